{{/* The webhook registrations, as the code defines them. */}}
{{- define "setguard.registrations" -}}
{{- .Files.Get "files/webhook-rules.yaml" -}}
{{- end -}}

{{/* Namespaces from which the API server sends nothing, as a JSON list. */}}
{{- define "setguard.excludedNamespaces" -}}
{{- $names := .Values.webhook.excludedNamespaces -}}
{{- if .Values.webhook.excludeOwnNamespace -}}
{{- $names = append $names (include "setguard.namespace" .) -}}
{{- end -}}
{{- $names | uniq | sortAlpha | toJson -}}
{{- end -}}

{{/*
Namespaces with the components that repair a cluster, as a JSON list. If the chart is installed into one of
them, that namespace is excluded entirely instead.
*/}}
{{- define "setguard.systemNamespaces" -}}
{{- $names := .Values.webhook.validating.systemNamespaces -}}
{{- range (include "setguard.excludedNamespaces" . | fromJsonArray) -}}
{{- $names = without $names . -}}
{{- end -}}
{{- $names | uniq | sortAlpha | toJson -}}
{{- end -}}

{{/*
One entry of a webhook configuration.
  root             $
  registration     an entry of files/webhook-rules.yaml
  name             its name, if different from the registration's
  failurePolicy    Fail or Ignore
  matchConditions  additional match conditions
  namespaces       requirements for the namespace's name
*/}}
{{- define "setguard.webhook" -}}
{{- $values := .root.Values.webhook -}}
- name: {{ default .registration.name .name }}
  admissionReviewVersions: [v1]
  clientConfig:
    {{- if $values.url }}
    url: {{ printf "%s%s" (trimSuffix "/" $values.url) .registration.path | quote }}
    {{- else }}
    service:
      name: {{ include "setguard.fullname" .root | quote }}
      namespace: {{ include "setguard.namespace" .root | quote }}
      path: {{ .registration.path }}
      port: {{ .root.Values.service.port }}
    {{- end }}
    {{- with include "setguard.caBundle" .root }}
    caBundle: {{ . }}
    {{- end }}
  failurePolicy: {{ .failurePolicy }}
  matchPolicy: {{ $values.matchPolicy }}
  sideEffects: {{ $values.sideEffects }}
  timeoutSeconds: {{ $values.timeoutSeconds }}
  {{- $expressions := .namespaces }}
  {{- with include "setguard.excludedNamespaces" .root | fromJsonArray }}
  {{- $expressions = append $expressions (dict "key" "kubernetes.io/metadata.name" "operator" "NotIn" "values" .) }}
  {{- end }}
  {{- $expressions = concat $expressions (default list $values.namespaceSelector.matchExpressions) }}
  {{- $labels := merge (dict) (default dict .registration.namespaceLabels) (default dict $values.namespaceSelector.matchLabels) }}
  {{- if or $expressions $labels }}
  namespaceSelector:
    {{- with $expressions }}
    matchExpressions:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with $labels }}
    matchLabels:
      {{- toYaml . | nindent 6 }}
    {{- end }}
  {{- end }}
  {{- with $values.objectSelector }}
  objectSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- $conditions := ternary .registration.matchConditions list $values.builtInMatchConditions }}
  {{- $conditions = concat (default list $conditions) $values.matchConditions .matchConditions }}
  {{- with $conditions }}
  matchConditions:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  rules:
    {{- toYaml .registration.rules | nindent 4 }}
{{- end -}}

{{/* Annotations of both webhook configurations. */}}
{{- define "setguard.webhookAnnotations" -}}
{{- $annotations := dict -}}
{{- if eq .Values.tls.mode "certManager" -}}
{{- $_ := set $annotations "cert-manager.io/inject-ca-from" (printf "%s/%s" (include "setguard.namespace" .) (include "setguard.fullname" .)) -}}
{{- end -}}
{{- with merge $annotations .Values.webhook.annotations -}}
{{- toYaml . -}}
{{- end -}}
{{- end -}}
