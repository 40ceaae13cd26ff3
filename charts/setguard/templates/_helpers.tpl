{{/*
Names. They depend only on the values and the release: the same values give the same bytes, so nothing here
looks into the cluster, creates keys or distinguishes an installation from an upgrade.
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

{{/*
The modes have different names: Helm owns the Secret of managed certificates and deletes it when the mode changes,
and cert-manager owns the other.
*/}}
{{- define "setguard.tlsSecretName" -}}
{{- $suffix := ternary "cert-manager-tls" "tls" (eq .Values.tls.mode "certManager") -}}
{{- default (printf "%s-%s" (include "setguard.fullname" .) $suffix) .Values.tls.secretName -}}
{{- end -}}

{{/* The DNS name by which the API server calls the Service. The certificate must contain it. */}}
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

{{/* The labels of all objects, without those by which the Deployment, the Service and others select pods. */}}
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

{{/* The labels of the hooks' pods. Service, NetworkPolicy and disruption budget must not select these pods. */}}
{{- define "setguard.hookLabels" -}}
app.kubernetes.io/name: {{ include "setguard.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{ include "setguard.commonLabels" .root }}
{{- end -}}

{{/* The caBundle of the webhook configurations; empty if cert-manager or setguard writes it. */}}
{{- define "setguard.caBundle" -}}
{{- with .Values.tls.caBundle -}}
{{- if contains "-----BEGIN" . -}}
{{- b64enc . -}}
{{- else -}}
{{- . | replace "\n" "" | replace " " "" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Seconds from SIGTERM to SIGKILL: the drain, then the requests in flight, then a margin. */}}
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

{{/* Checks that the schema cannot express. */}}
{{- define "setguard.check" -}}
{{- if eq .Values.tls.mode "secret" -}}
{{- if not (or .Values.tls.secretName (eq (toString .Values.replicaCount) "0")) -}}
{{- fail "tls.secretName: tls.mode is secret, so set this to the name of the Secret that contains tls.crt and tls.key" -}}
{{- end -}}
{{- if not (or .Values.tls.caBundle .Values.webhook.annotations) -}}
{{- fail "tls.caBundle: tls.mode is secret, so set this to the CA of that certificate, as in --set-file tls.caBundle=ca.crt; without it the API server does not trust setguard" -}}
{{- end -}}
{{- else if .Values.tls.caBundle -}}
{{- fail (printf "tls.caBundle: leave it empty; with tls.mode %s the CA is written for you" .Values.tls.mode) -}}
{{- end -}}
{{- if and .Values.webhook.url (not (hasPrefix "https://" .Values.webhook.url)) -}}
{{- fail "webhook.url: must begin with https://, since the API server calls webhooks over HTTPS only" -}}
{{- end -}}
{{- end -}}
