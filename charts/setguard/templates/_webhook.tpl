{{/* The webhook registrations, as the code defines them. */}}
{{- define "setguard.registrations" -}}
{{- .Files.Get "files/webhook-rules.yaml" -}}
{{- end -}}

{{/*
"true" if the replicas write the rules of the webhooks, as soon as the API server can call them. Without replicas
nobody would.
*/}}
{{- define "setguard.arms" -}}
{{- and (eq (include "setguard.serves" .) "true") (eq .Values.webhook.arm "whenReady") (or .Values.autoscaling.enabled (ne (toString .Values.replicaCount) "0")) -}}
{{- end -}}

{{/* "true" if the replicas compare the webhooks with their annotation. With atOnce, they need the rights of tls.mode managed. */}}
{{- define "setguard.compares" -}}
{{- or (eq (include "setguard.arms" .) "true") (and (eq (include "setguard.serves" .) "true") (eq .Values.webhook.arm "atOnce") (eq .Values.tls.mode "managed")) -}}
{{- end -}}

{{/* The SHA-256 of each annotation setguard.io/webhooks, so that nobody can quietly change it together with the webhooks. */}}
{{- define "setguard.annotationHashes" -}}
{{- $hashes := list -}}
{{- if eq (include "setguard.compares" .) "true" -}}
{{- range list "validating" "mutating" -}}
{{- $configuration := include (printf "%s/%s-webhook.yaml" $.Template.BasePath .) $ | fromYaml -}}
{{- with dig "metadata" "annotations" "setguard.io/webhooks" "" $configuration -}}{{- $hashes = append $hashes (sha256sum .) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- join "," $hashes -}}
{{- end -}}

{{/* The argument of `setguard probe` with these; empty without a server that compares. */}}
{{- define "setguard.annotationsArg" -}}
{{- with include "setguard.annotationHashes" . -}}{{- printf "--annotations=%s" . -}}{{- end -}}
{{- end -}}

{{/* The ConfigMap that setguard patches with dryRun, to see that the API server calls it. */}}
{{- define "setguard.rehearsalName" -}}
{{- printf "%s-rehearsal" (include "setguard.fullname" .) -}}
{{- end -}}

{{/* The arguments of `setguard probe` that name the webhook configurations, as YAML. */}}
{{- define "setguard.configurationArgs" -}}
{{- $mutating := .Values.webhook.mutating -}}
{{- $args := list -}}
{{- if .Values.webhook.validating.enabled -}}{{- $args = append $args (printf "--validating-config=%s" (include "setguard.fullname" .)) -}}{{- end -}}
{{- if and $mutating.enabled (or $mutating.pods.enabled $mutating.workloads.enabled $mutating.controlPlane.enabled) -}}
{{- $args = append $args (printf "--mutating-config=%s" (include "setguard.fullname" .)) -}}
{{- end -}}
{{- toYaml $args -}}
{{- end -}}
{{- define "setguard.rehearsalArg" -}}
{{- printf "--rehearsal=%s/%s" (include "setguard.namespace" .) (include "setguard.rehearsalName" .) -}}
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

{{/* The names in a JSON list (`names`), or the part before the * of its patterns (`prefixes`), as a JSON list. */}}
{{- define "setguard.names" -}}
{{- $found := list -}}
{{- range fromJsonArray . -}}{{- if not (hasSuffix "*" .) -}}{{- $found = append $found . -}}{{- end -}}{{- end -}}
{{- toJson $found -}}
{{- end -}}
{{- define "setguard.prefixes" -}}
{{- $found := list -}}
{{- range fromJsonArray . -}}{{- if hasSuffix "*" . -}}{{- $found = append $found (trimSuffix "*" .) -}}{{- end -}}{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/*
CEL: whether the object's namespace has one of these names or begins with one of these prefixes. A selector of
namespaces can compare whole names only. Requests for objects in no namespace have no field `namespace`.
*/}}
{{- define "setguard.inNamespaces" -}}
{{- $any := list -}}
{{- with .names -}}{{- $any = append $any (printf "request.namespace in ['%s']" (join "', '" .)) -}}{{- end -}}
{{- range .prefixes -}}{{- $any = append $any (printf "request.namespace.startsWith('%s')" .) -}}{{- end -}}
{{- if .not -}}
{{- printf "!has(request.namespace) || !(%s)" (join " || " $any) -}}
{{- else -}}
{{- printf "has(request.namespace) && (%s)" (join " || " $any) -}}
{{- end -}}
{{- end -}}

{{/*
The match conditions of all validating webhooks, as JSON. A list of texts in JSON is one in CEL too, whatever characters the
names have.
*/}}
{{- define "setguard.validatingConditions" -}}
{{- $conditions := list -}}
{{- with .exemptUsers -}}
{{- $conditions = append $conditions (dict "name" "not-by-exempt-users" "expression" (printf "!has(request.userInfo.username) || !(request.userInfo.username in %s)" (toJson .))) -}}
{{- end -}}
{{- with .exemptGroups -}}
{{- $conditions = append $conditions (dict "name" "not-by-exempt-groups" "expression" (printf "!has(request.userInfo.groups) || !request.userInfo.groups.exists(group, group in %s)" (toJson .))) -}}
{{- end -}}
{{- concat $conditions .matchConditions | toJson -}}
{{- end -}}

{{/* "true" if writes to the scale subresource are sent: a limit of the policy is about the claims that they delete. */}}
{{- define "setguard.seesScale" -}}
{{- $sees := eq .Values.webhook.validating.scale "always" -}}
{{- if eq .Values.webhook.validating.scale "auto" -}}
{{- range (default dict .Values.policy).limits -}}
{{- if and (kindIs "map" .) (hasKey . "deletesClaims") (eq (toString .deletesClaims) "false") -}}{{- $sees = true -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- $sees -}}
{{- end -}}

{{/* Where the API server finds this path. */}}
{{- define "setguard.clientConfig" -}}
{{- if .root.Values.webhook.url -}}
url: {{ printf "%s%s" (trimSuffix "/" .root.Values.webhook.url) .path | quote }}
{{- else -}}
service:
  name: {{ include "setguard.fullname" .root | quote }}
  namespace: {{ include "setguard.namespace" .root | quote }}
  path: {{ .path }}
  port: {{ .root.Values.service.port }}
{{- end }}
{{- with include "setguard.caBundle" .root }}
caBundle: {{ . }}
{{- end }}
{{- end -}}

{{/*
One entry of a webhook configuration.
  root             $
  registration     an entry of files/webhook-rules.yaml
  name             its name, if different from the registration's
  failurePolicy    Fail or Ignore
  matchConditions  additional match conditions
  namespaces       requirements for the labels of the namespace, including its name
*/}}
{{- define "setguard.webhook" -}}
{{- $values := .root.Values.webhook -}}
{{- $excluded := include "setguard.excludedNamespaces" .root -}}
- name: {{ include "setguard.qualified" (list .root (default .registration.name .name)) }}
  admissionReviewVersions: [v1]
  clientConfig:
    {{- include "setguard.clientConfig" (dict "root" .root "path" .registration.path) | nindent 4 }}
  failurePolicy: {{ .failurePolicy }}
  matchPolicy: Equivalent
  sideEffects: None
  timeoutSeconds: {{ $values.timeoutSeconds }}
  {{- $expressions := .namespaces }}
  {{- with include "setguard.names" $excluded | fromJsonArray }}
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
  {{- $objects := deepCopy $values.objectSelector }}
  {{- with .registration.objectLabels }}
  {{- $_ := set $objects "matchLabels" (merge (dict) . (default dict $objects.matchLabels)) }}
  {{- end }}
  {{- with $objects }}
  objectSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- $conditions := default list .registration.matchConditions }}
  {{- with include "setguard.prefixes" $excluded | fromJsonArray }}
  {{- $conditions = append $conditions (dict "name" "not-in-excluded-namespaces" "expression" (include "setguard.inNamespaces" (dict "prefixes" . "not" true))) }}
  {{- end }}
  {{- $conditions = concat $conditions $values.matchConditions .matchConditions }}
  {{- with $conditions }}
  {{- $names := list }}
  {{- range . }}
  {{- if has .name $names }}
  {{- fail (printf "matchConditions: two conditions of a webhook have the name %q; choose another one" .name) }}
  {{- end }}
  {{- $names = append $names .name }}
  {{- end }}
  matchConditions:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  rules:
    {{- toYaml .registration.rules | nindent 4 }}
  {{- with .reinvocationPolicy }}
  reinvocationPolicy: {{ . }}
  {{- end }}
{{- end -}}

{{/*
A webhook configuration.
  root       $
  kind       its kind
  entries    its webhooks, as for setguard.webhook but without root
  rehearsal  the registration that shows setguard whether the API server can call it
*/}}
{{- define "setguard.webhookConfiguration" -}}
{{- $root := .root -}}
{{- $arms := eq (include "setguard.arms" .root) "true" -}}
{{- $webhooks := list -}}
{{- range .entries -}}
{{- $webhooks = concat $webhooks (include "setguard.webhook" (set . "root" $root) | fromYamlArray) -}}
{{- end -}}
{{- if $arms -}}
{{- $webhooks = concat $webhooks (include "setguard.rehearsalWebhook" . | fromYamlArray) -}}
{{- end -}}
{{- /* The webhooks as they should be: setguard, its audit and its test compare the stored ones with them. */ -}}
{{- $annotations := dict "setguard.io/webhooks" (toRawJson $webhooks) -}}
{{- /* If one of the two is deleted, the other shows that it existed. */ -}}
{{- $mutating := .root.Values.webhook.mutating -}}
{{- $mutates := and $mutating.enabled (or $mutating.pods.enabled $mutating.workloads.enabled $mutating.controlPlane.enabled) -}}
{{- if and .root.Values.webhook.validating.enabled $mutates -}}
{{- $_ := set $annotations "setguard.io/sibling" (ternary "MutatingWebhookConfiguration" "ValidatingWebhookConfiguration" (eq .kind "ValidatingWebhookConfiguration")) -}}
{{- end -}}
{{- if eq .root.Values.tls.mode "certManager" -}}
{{- $_ := set $annotations "cert-manager.io/inject-ca-from" (printf "%s/%s" (include "setguard.namespace" .root) (include "setguard.fullname" .root)) -}}
{{- end -}}
apiVersion: admissionregistration.k8s.io/v1
kind: {{ .kind }}
metadata:
  name: {{ include "setguard.fullname" .root | quote }}
  {{- include "setguard.metadata" (dict "root" .root "more" .root.Values.webhook.labels "annotations" (merge $annotations .root.Values.webhook.annotations)) | nindent 2 }}
webhooks:
  {{- /*
  Without rules a webhook matches nothing. setguard copies the rules from the annotation once the API server can call
  it. The last webhook shows whether it can.
  */}}
  {{- range $webhooks }}
  {{- $webhook := ternary (omit . "rules") . (and $arms (not (hasPrefix "rehearsal." .name))) }}
  {{- list $webhook | toYaml | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* The webhook that shows whether the API server can call setguard. It matches only dry-run patches by setguard's account. */}}
{{- define "setguard.rehearsalWebhook" -}}
- name: {{ include "setguard.qualified" (list .root (printf "rehearsal.%s.setguard.io" (trimAll "/" .rehearsal.path))) }}
  admissionReviewVersions: [v1]
  clientConfig:
    {{- include "setguard.clientConfig" (dict "root" .root "path" .rehearsal.path) | nindent 4 }}
  # Whoever asks gets the API server's own words why the call failed.
  failurePolicy: Fail
  matchPolicy: Equivalent
  sideEffects: None
  timeoutSeconds: {{ .root.Values.webhook.timeoutSeconds }}
  # One object, and only when setguard itself patches it. Its namespace is matched although the others exclude it.
  namespaceSelector:
    matchLabels:
      kubernetes.io/metadata.name: {{ include "setguard.namespace" .root | quote }}
  objectSelector:
    matchLabels:
      setguard.io/rehearsal: "true"
  matchConditions:
    - name: only-setguard-itself
      expression: request.userInfo.username == 'system:serviceaccount:{{ include "setguard.namespace" .root }}:{{ include "setguard.serviceAccountName" .root }}'
  rules:
    - apiGroups: [""]
      apiVersions: [v1]
      operations: [UPDATE]
      resources: [configmaps]
      scope: Namespaced
{{- end -}}
