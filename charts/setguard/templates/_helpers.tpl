{{/*
Names. They depend on values and release alone: the same values give the same bytes, so nothing here looks
into the cluster, makes keys or tells an installation from an upgrade.
*/}}
{{- define "setguard.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "setguard.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "setguard.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- define "setguard.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "setguard.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "setguard.policyConfigMapName" -}}
{{- default (printf "%s-policy" (include "setguard.fullname" .)) .Values.existingPolicyConfigMap -}}
{{- end -}}

{{- define "setguard.tlsSecretName" -}}
{{- default (printf "%s-tls" (include "setguard.fullname" .)) .Values.tls.secretName -}}
{{- end -}}

{{/* The name by which the API server calls the Service, and for which the certificate has to be. */}}
{{- define "setguard.dnsName" -}}
{{- printf "%s.%s.svc" (include "setguard.fullname" .) (include "setguard.namespace" .) -}}
{{- end -}}

{{- define "setguard.image" -}}
{{- $repository := .Values.image.repository -}}
{{- with .Values.image.registry -}}{{- $repository = printf "%s/%s" . $repository -}}{{- end -}}
{{- $image := printf "%s:%s" $repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- with .Values.image.digest -}}{{- $image = printf "%s@%s" $image . -}}{{- end -}}
{{- $image -}}
{{- end -}}

{{- define "setguard.selectorLabels" -}}
app.kubernetes.io/name: {{ include "setguard.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: webhook
{{- end -}}

{{/* Of everything but what the Deployment, the Service and the like select. */}}
{{- define "setguard.commonLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: setguard
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "setguard.labels" -}}
{{ include "setguard.selectorLabels" . }}
{{ include "setguard.commonLabels" . }}
{{- end -}}

{{/* Of the hooks' pods, which must be selected by neither Service, NetworkPolicy nor budget. */}}
{{- define "setguard.hookLabels" -}}
app.kubernetes.io/name: {{ include "setguard.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{ include "setguard.commonLabels" .root }}
{{- end -}}

{{/* caBundle of the webhook configurations, or nothing where cert-manager or setguard writes it. */}}
{{- define "setguard.caBundle" -}}
{{- with .Values.tls.caBundle -}}
{{- if contains "-----BEGIN" . -}}
{{- b64enc . -}}
{{- else -}}
{{- . | replace "\n" "" | replace " " "" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Seconds from SIGTERM to SIGKILL: drain, then finish, then some to spare. */}}
{{- define "setguard.terminationGracePeriodSeconds" -}}
{{- $needed := add .Values.shutdown.drainSeconds .Values.shutdown.graceSeconds 5 -}}
{{- with .Values.terminationGracePeriodSeconds -}}
{{- if lt (int .) (int $needed) -}}
{{- fail (printf "terminationGracePeriodSeconds: %d is less than shutdown.drainSeconds + shutdown.graceSeconds + 5 = %d, so requests would be cut off" (int .) (int $needed)) -}}
{{- end -}}
{{- $needed = . -}}
{{- end -}}
{{- int $needed -}}
{{- end -}}

{{/* What the schema cannot say. */}}
{{- define "setguard.check" -}}
{{- if eq .Values.tls.mode "secret" -}}
{{- if not (or .Values.tls.secretName (eq (int .Values.replicaCount) 0)) -}}
{{- fail "tls.secretName: tls.mode is secret, so name the Secret that holds tls.crt and tls.key" -}}
{{- end -}}
{{- if not (or .Values.tls.caBundle .Values.webhook.annotations) -}}
{{- fail "tls.caBundle: tls.mode is secret, so give the CA of that certificate, as in --set-file tls.caBundle=ca.crt; without it the API server trusts nobody" -}}
{{- end -}}
{{- else if .Values.tls.caBundle -}}
{{- fail (printf "tls.caBundle: with tls.mode %s it is written for you; leave it empty" .Values.tls.mode) -}}
{{- end -}}
{{- if and .Values.webhook.url (not (hasPrefix "https://" .Values.webhook.url)) -}}
{{- fail "webhook.url: the API server calls nothing but https" -}}
{{- end -}}
{{- end -}}
