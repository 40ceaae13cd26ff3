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

{{/*
The name of a webhook or a policy, from a list of $ and the name in the code. It contains the release's name unless that is the usual
one, so that the API server's messages and metrics show the release.
*/}}
{{- define "setguard.qualified" -}}
{{- $name := include "setguard.fullname" (index . 0) -}}
{{- $suffix := ternary "" (printf ".%s" $name) (eq $name "setguard") -}}
{{- printf "%s%s.setguard.io" (trimSuffix ".setguard.io" (index . 1)) $suffix -}}
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
The ConfigMap of the audit's policy. With mode both, it differs from the server's, where the rules of the policies are off.
*/}}
{{- define "setguard.auditPolicyConfigMapName" -}}
{{- if eq (include "setguard.mode" .) "both" -}}
{{- printf "%s-audit-policy" (include "setguard.fullname" .) -}}
{{- else -}}
{{- include "setguard.policyConfigMapName" . -}}
{{- end -}}
{{- end -}}

{{/*
The ConfigMap of the policy in a namespace, with this name. With mode both, the rules in `less` are off unless they deny or report what
the policies miss. Rules that deny never report twice, because the policy refuses first. They stay on, so that a change of the mode
does not have to wait until the pods have read this.
*/}}
{{- define "setguard.policyConfigMap" -}}
{{- $policy := deepCopy (.root.Values.policy | default dict) -}}
{{- if and .less (eq (include "setguard.mode" .root) "both") -}}
{{- $rules := dict -}}
{{- range $id, $mode := .less -}}{{- if and (ne $mode "deny") (ne $id "too-large-to-check") -}}{{- $_ := set $rules $id "off" -}}{{- end -}}{{- end -}}
{{- $policy = mergeOverwrite $policy (dict "rules" $rules) -}}
{{- end -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .name | quote }}
  namespace: {{ .namespace | quote }}
  {{- include "setguard.metadata" (dict "root" .root) | nindent 2 }}
data:
  policy.yaml: |
    apiVersion: setguard.io/v1alpha1
    kind: Policy
    metadata:
      name: {{ include "setguard.fullname" .root | quote }}
    {{- with $policy }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/*
The modes have different names: Helm owns the Secret of managed certificates and deletes it when the mode changes,
and cert-manager owns the other.
*/}}
{{- define "setguard.tlsSecretName" -}}
{{- $suffix := ternary "cert-manager-tls" "tls" (eq .Values.tls.mode "certManager") -}}
{{- default (printf "%s-%s" (include "setguard.fullname" .) $suffix) .Values.tls.secretName -}}
{{- end -}}

{{/* The DNS name of the Service for the API server. The certificate must contain it. */}}
{{- define "setguard.dnsName" -}}
{{- printf "%s.%s.svc" (include "setguard.fullname" .) (include "setguard.namespace" .) -}}
{{- end -}}

{{/* "true" if the name of an image begins with a registry, by the rules of container runtimes. */}}
{{- define "setguard.namesRegistry" -}}
{{- regexMatch "^([^/]*[.:][^/]*|localhost)/" (toString .) -}}
{{- end -}}

{{- define "setguard.image" -}}
{{- $repository := .Values.image.repository -}}
{{- if ne (include "setguard.namesRegistry" $repository) "true" -}}
{{- with coalesce (default dict .Values.global).imageRegistry .Values.image.registry -}}
{{- $repository = printf "%s/%s" . $repository -}}
{{- end -}}
{{- end -}}
{{- $image := printf "%s:%s" $repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- $digest := .Values.image.digest -}}
{{- /* The digest of the released image belongs to the chart's appVersion, not to another tag. */ -}}
{{- if not (or $digest .Values.image.tag) -}}
{{- $digest = index .Chart.Annotations "setguard.io/image-digest" -}}
{{- end -}}
{{- with $digest -}}{{- $image = printf "%s@%s" $image . -}}{{- end -}}
{{- $image -}}
{{- end -}}

{{/* The pull secrets of a parent chart and of this chart, as YAML. A parent's may be plain names. */}}
{{- define "setguard.imagePullSecrets" -}}
{{- $secrets := list -}}
{{- range concat (default list (default dict .Values.global).imagePullSecrets) .Values.imagePullSecrets -}}
{{- $secrets = append $secrets (ternary (dict "name" .) . (kindIs "string" .)) -}}
{{- end -}}
{{- with uniq $secrets -}}{{- toYaml . -}}{{- end -}}
{{- end -}}

{{- define "setguard.selectorLabels" -}}
app.kubernetes.io/name: {{ include "setguard.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: webhook
{{- end -}}

{{/*
The labels of an object: the selector's, the chart's, `more`, and commonLabels. The first one wins, so nothing can replace the
chart's own. `component` keeps pods of hooks and of the audit out of the selectors of the Service, the NetworkPolicy and the
disruption budget.
*/}}
{{- define "setguard.labelsWith" -}}
{{- $own := dict
  "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-")
  "app.kubernetes.io/version" .root.Chart.AppVersion
  "app.kubernetes.io/managed-by" .root.Release.Service
  "app.kubernetes.io/part-of" "setguard" -}}
{{- with .component -}}{{- $own = set $own "app.kubernetes.io/component" . -}}{{- end -}}
{{- $selected := include "setguard.selectorLabels" .root | fromYaml -}}
{{- toYaml (merge $own $selected (default dict .more) .root.Values.commonLabels) -}}
{{- end -}}

{{/*
The labels of an object as above, and its annotations: `annotations` and commonAnnotations.
*/}}
{{- define "setguard.metadata" -}}
labels:
  {{- include "setguard.labelsWith" . | nindent 2 }}
{{- with merge (dict) (default dict .annotations) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
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

{{/* The mode of the inventory. YAML reads `off` as false. */}}
{{- define "setguard.inventoryMode" -}}
{{- ternary "off" (toString .Values.inventory.mode) (has (toString .Values.inventory.mode) (list "off" "false")) -}}
{{- end -}}

{{/* "true" if setguard calls the API server. */}}
{{- define "setguard.callsApiServer" -}}
{{- or (eq .Values.tls.mode "managed") (ne (include "setguard.inventoryMode" .) "off") .Values.inventory.featureGates (eq (include "setguard.arms" .) "true") -}}
{{- end -}}

{{/* Checks that the schema cannot express. */}}
{{- define "setguard.check" -}}
{{- include "setguard.checkValues" . -}}
{{- include "setguard.checkChange" . -}}
{{- if eq .Values.tls.mode "secret" -}}
{{- if not (or .Values.tls.secretName (eq (toString .Values.replicaCount) "0")) -}}
{{- fail "tls.secretName: tls.mode is secret, so set this to the name of the Secret that contains tls.crt and tls.key" -}}
{{- end -}}
{{- $injected := false -}}
{{- range $key, $_ := .Values.webhook.annotations -}}
{{- if hasPrefix "cert-manager.io/inject-" $key -}}{{- $injected = true -}}{{- end -}}
{{- end -}}
{{- if and .Values.tls.caBundle (not (contains "-----BEGIN CERTIFICATE-----" (include "setguard.caBundle" . | b64dec))) -}}
{{- fail "tls.caBundle: must be certificates as PEM, or base64-encoded PEM" -}}
{{- end -}}
{{- if not (or .Values.tls.caBundle $injected) -}}
{{- fail "tls.caBundle: tls.mode is secret, so set this to the CA of that certificate, as in --set-file tls.caBundle=ca.crt; without it the API server does not trust setguard" -}}
{{- end -}}
{{- else if .Values.tls.caBundle -}}
{{- fail (printf "tls.caBundle: leave it empty; with tls.mode %s the CA is written for you" .Values.tls.mode) -}}
{{- end -}}
{{- if eq (int .Values.listen.port) (int .Values.listen.adminPort) -}}
{{- fail "listen.adminPort: must differ from listen.port" -}}
{{- end -}}
{{- end -}}

{{/* Fields of the spec of every pod. `dnsPolicy` is its default. */}}
{{- define "setguard.podFields" -}}
{{- $values := .root.Values -}}
{{- $fields := dict -}}
{{- with $values.schedulerName -}}{{- $_ := set $fields "schedulerName" . -}}{{- end -}}
{{- if kindIs "bool" $values.hostUsers -}}{{- $_ := set $fields "hostUsers" $values.hostUsers -}}{{- end -}}
{{- with $values.dnsPolicy | default .dnsPolicy -}}{{- $_ := set $fields "dnsPolicy" . -}}{{- end -}}
{{- with $values.dnsConfig -}}{{- $_ := set $fields "dnsConfig" . -}}{{- end -}}
{{- with $values.hostAliases -}}{{- $_ := set $fields "hostAliases" . -}}{{- end -}}
{{- with $fields -}}{{- toYaml . -}}{{- end -}}
{{- end -}}

{{/* An egress rule of a NetworkPolicy: the API server. */}}
{{- define "setguard.egressToApiServer" -}}
- ports:
    {{- range .Values.networkPolicy.apiServerPorts }}
    - port: {{ . }}
      protocol: TCP
    {{- end }}
  {{- with .Values.networkPolicy.apiServerTo }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/*
Values without their nulls. In YAML, `key:` without a value is null, and so is a list or a map whose entries are
all commented out. Helm then drops the key, although templates read below it. Dropped sections, switches and texts
below a section get their defaults again, and a list becomes empty. Other values stay away, because users remove a
default with null; so do sections that the chart only passes on, such as resources. Each template begins with this. It
changes the values in place.
*/}}
{{- define "setguard.init" -}}
{{- $defaults := .Files.Get "files/defaults.yaml" | fromYaml -}}
{{- include "setguard.fill" (dict "values" .Values "defaults" $defaults) -}}
{{- range $key, $default := $defaults.shutdown -}}
{{- if not (hasKey $.Values.shutdown $key) -}}{{- $_ := set $.Values.shutdown $key $default -}}{{- end -}}
{{- end -}}
{{- if ne (include "setguard.serves" .) "true" -}}
{{- /* Switches of objects that only the server needs. */}}
{{- range list .Values.admissionPolicy .Values.autoscaling .Values.cleanup .Values.podDisruptionBudget .Values.priorityClassQuota .Values.metrics.dashboard .Values.metrics.podMonitor .Values.metrics.prometheusRule .Values.metrics.serviceMonitor -}}
{{- $_ := set . "enabled" false -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "setguard.fill" -}}
{{- range $key, $default := .defaults -}}
{{- $has := and (hasKey $.values $key) (not (kindIs "invalid" (index $.values $key))) -}}
{{- if and $has (kindIs "map" $default) (kindIs "map" (index $.values $key)) -}}
{{- include "setguard.fill" (dict "values" (index $.values $key) "defaults" $default) -}}
{{- else if and (not $has) (kindIs "slice" $default) -}}
{{- $_ := set $.values $key list -}}
{{- else if and (not $has) (or (kindIs "map" $default) (kindIs "bool" $default) (and (kindIs "string" $default) $default)) -}}
{{- $_ := set $.values $key $default -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
The spec of the pod of a hook's Job.
  root       $
  of         the values with its resources
  account    its ServiceAccount
  container  the name of its container
  args       its arguments
*/}}
{{- define "setguard.hookPod" -}}
{{- $values := .root.Values -}}
restartPolicy: Never
serviceAccountName: {{ .account | quote }}
automountServiceAccountToken: true
enableServiceLinks: false
{{- with include "setguard.podFields" (dict "root" .root) }}
{{- . | nindent 0 }}
{{- end }}
{{- with include "setguard.imagePullSecrets" .root }}
imagePullSecrets:
  {{- . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
securityContext:
  {{- toYaml $values.podSecurityContext | nindent 2 }}
containers:
  - name: {{ .container }}
    # setguard's own image is already on the nodes and in every mirror.
    image: {{ include "setguard.image" .root | quote }}
    imagePullPolicy: {{ $values.image.pullPolicy }}
    args:
      {{- toYaml .args | nindent 6 }}
    resources:
      {{- toYaml .of.resources | nindent 6 }}
    securityContext:
      {{- toYaml $values.securityContext | nindent 6 }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
