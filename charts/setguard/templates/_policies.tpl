{{/* Who checks: webhook, policies or both. */}}
{{- define "setguard.mode" -}}
{{- .Values.mode | default "webhook" -}}
{{- end -}}

{{/* "true" if there is a server. */}}
{{- define "setguard.serves" -}}
{{- ne (include "setguard.mode" .) "policies" -}}
{{- end -}}

{{/* The minor release of the cluster, 36 for 1.36: from the policy, otherwise the newest, as for `setguard export`. */}}
{{- define "setguard.minor" -}}
{{- $newest := printf "1.%v" (.Files.Get "files/policies.yaml" | fromYaml).newest -}}
{{- $version := (.Values.policy | default dict).kubernetes | default dict | dig "version" "" | default $newest -}}
{{- regexReplaceAll "^v?1\\.([0-9]+).*$" (toString $version) "${1}" -}}
{{- end -}}

{{/*
The rules that become policies, with their modes, as JSON. With mode both, the server leaves rules that do not deny to the policies.
Such a rule is here only if its policy finds everything that the rule finds, in every release, and has no exceptions that expire.
Rules that deny stay on in the server, so that a change of the mode leaves no gap; their policies refuse first.
*/}}
{{- define "setguard.policyRules" -}}
{{- $found := dict -}}
{{- $both := eq (include "setguard.mode" .) "both" -}}
{{- if and (ne (include "setguard.mode" .) "webhook") .Values.webhook.validating.enabled -}}
{{- $ending := list -}}
{{- $policy := .Values.policy | default dict -}}
{{- range $policy.exceptions -}}
{{- if .expires -}}{{- $ending = concat $ending .rules -}}{{- end -}}
{{- end -}}
{{- $minor := include "setguard.minor" . | int -}}
{{- $gates := ($policy.kubernetes | default dict).featureGates | default dict -}}
{{- $modes := $policy.rules | default dict -}}
{{- range (.Files.Get "files/policies.yaml" | fromYaml).rules -}}
{{- $mode := get $modes .id | default .mode -}}
{{- $says := ne $mode "off" -}}
{{- with .gate -}}
{{- $on := false -}}
{{- range .on -}}{{- if eq (int .) $minor -}}{{- $on = true -}}{{- end -}}{{- end -}}
{{- if hasKey $gates .name -}}{{- $on = get $gates .name -}}{{- end -}}
{{- $says = and $says $on (or (not $both) (eq $mode "deny")) -}}
{{- end -}}
{{- if and $both (or (not (or .whole .long (eq $mode "deny"))) (has .id $ending)) -}}{{- $says = false -}}{{- end -}}
{{- if $says -}}{{- $_ := set $found .id $mode -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/*
"true" if policies inject. With mode both, the server injects too, so policies inject only in a cluster that certainly has them, and
only if they inject the same.
*/}}
{{- define "setguard.policiesInject" -}}
{{- $mode := include "setguard.mode" . -}}
{{- $same := not (.Values.policy | default dict).injection -}}
{{- $known := .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" -}}
{{- and .Values.webhook.mutating.enabled (or (eq $mode "policies") (and (eq $mode "both") $same $known)) -}}
{{- end -}}

{{/* CEL: whether an object is exempt from a rule; empty if none is. */}}
{{- define "setguard.exempt" -}}
{{- $any := list -}}
{{- $rule := .rule -}}
{{- range .exceptions -}}
{{- if has $rule .rules -}}
{{- $parts := list -}}
{{- range list (dict "of" "request.namespace" "patterns" .namespaces) (dict "of" "object.metadata.name" "patterns" .names) -}}
{{- $of := .of -}}
{{- with .patterns -}}
{{- $patterns := list -}}
{{- range . -}}{{- $patterns = append $patterns (regexQuoteMeta . | replace "\\*" ".*") -}}{{- end -}}
{{- $regex := join "|" $patterns | replace "\\" "\\\\" | replace "'" "\\'" -}}
{{- $parts = append $parts (printf "%s.matches('^(%s)$')" $of $regex) -}}
{{- end -}}
{{- end -}}
{{- $any = append $any (printf "(%s)" (join " && " $parts | default "true")) -}}
{{- end -}}
{{- end -}}
{{- join " || " $any -}}
{{- end -}}

{{/*
The namespaces and objects that `webhook` selects, for the binding of a policy, as JSON. Selectors that select everything are
there too: without them, a selector that a different client adds would survive every upgrade.
*/}}
{{- define "setguard.matchResources" -}}
{{- $webhook := .Values.webhook -}}
{{- $found := dict -}}
{{- $excluded := $webhook.excludedNamespaces | uniq | sortAlpha | toJson -}}
{{- $expressions := list -}}
{{- with include "setguard.names" $excluded | fromJsonArray -}}
{{- $expressions = append $expressions (dict "key" "kubernetes.io/metadata.name" "operator" "NotIn" "values" .) -}}
{{- end -}}
{{- $namespaces := dict -}}
{{- with concat $expressions (default list $webhook.namespaceSelector.matchExpressions) -}}
{{- $_ := set $namespaces "matchExpressions" . -}}
{{- end -}}
{{- with $webhook.namespaceSelector.matchLabels -}}{{- $_ := set $namespaces "matchLabels" . -}}{{- end -}}
{{- $_ := set $found "namespaceSelector" $namespaces -}}
{{- $_ := set $found "objectSelector" $webhook.objectSelector -}}
{{- toJson $found -}}
{{- end -}}

{{/* The match conditions that `webhook` has for everything, for a policy, as JSON. */}}
{{- define "setguard.policyConditions" -}}
{{- $conditions := list -}}
{{- $excluded := .Values.webhook.excludedNamespaces | uniq | sortAlpha | toJson -}}
{{- with include "setguard.prefixes" $excluded | fromJsonArray -}}
{{- $conditions = append $conditions (dict "name" "not-in-excluded-namespaces" "expression" (include "setguard.inNamespaces" (dict "prefixes" . "not" true))) -}}
{{- end -}}
{{- concat $conditions .Values.webhook.matchConditions | toJson -}}
{{- end -}}

{{/*
A policy with its binding.
  root    $
  kind    ValidatingAdmissionPolicy or MutatingAdmissionPolicy
  name    its name
  spec    its spec
  action  the action of the binding, if the policy validates
*/}}
{{- define "setguard.policy" }}
{{- range $kind := list .kind (printf "%sBinding" .kind) }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: {{ $kind }}
metadata:
  name: {{ $.name | quote }}
  {{- include "setguard.metadata" (dict "root" $.root) | nindent 2 }}
spec:
  {{- if eq $kind $.kind }}
  {{- toYaml $.spec | nindent 2 }}
  {{- else }}
  policyName: {{ $.name | quote }}
  {{- with $.action }}
  validationActions: [{{ . }}]
  {{- end }}
  {{- with include "setguard.matchResources" $.root | fromJson }}
  matchResources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
{{- end }}
{{- end }}

{{/*
Commands that switch the policies of this chart off. Both labels: in a parent chart, other charts have the same instance. One
command for each kind: kubectl deletes nothing at all if the cluster does not know one of the kinds.
*/}}
{{- define "setguard.switchPoliciesOff" -}}
{{- $kinds := list "validatingadmissionpolicybindings" -}}
{{- if eq (include "setguard.policiesInject" .) "true" -}}
{{- $kinds = append $kinds "mutatingadmissionpolicybindings" -}}
{{- end -}}
{{- range $i, $kind := $kinds -}}
{{- if $i }}{{ "\n" }}{{ end -}}
kubectl delete {{ $kind }} -l app.kubernetes.io/name={{ include "setguard.name" $ }},app.kubernetes.io/instance={{ $.Release.Name }}
{{- end -}}
{{- end -}}

{{/*
Refuses to change the mode in one step: Helm deletes the old guard before the new one answers, so for seconds nothing would be
checked. Without a cluster to look into, it refuses nothing. Nothing else depends on the cluster.
*/}}
{{- define "setguard.checkChange" -}}
{{- $mode := include "setguard.mode" . -}}
{{- if and .Release.IsUpgrade (ne $mode "both") -}}
{{- $server := lookup "apps/v1" "Deployment" (include "setguard.namespace" .) (include "setguard.fullname" .) -}}
{{- $from := dig "metadata" "annotations" "setguard.io/mode" "" $server -}}
{{- if and (not $server) (eq $mode "webhook") -}}
{{- $bindings := lookup "admissionregistration.k8s.io/v1" "ValidatingAdmissionPolicyBinding" "" "" -}}
{{- range default list $bindings.items -}}
{{- $annotations := default dict .metadata.annotations -}}
{{- if and (eq (get $annotations "meta.helm.sh/release-name") $.Release.Name) (eq (get $annotations "meta.helm.sh/release-namespace") $.Release.Namespace) (hasSuffix ".setguard.io" .metadata.name) -}}
{{- $from = "policies" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and (has $from (list "webhook" "policies")) (ne $from $mode) -}}
{{- fail (printf "mode: between %s and %s nothing would be checked for some seconds. Upgrade to mode=both first, run helm test, and then upgrade to mode=%s" $from $mode $mode) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The minor release whose features decide which values are refused: from `policy`, otherwise the cluster's. Nothing else depends on it. */}}
{{- define "setguard.ownMinor" -}}
{{- $given := (.Values.policy | default dict).kubernetes | default dict | dig "version" "" -}}
{{- if $given -}}{{- include "setguard.minor" . -}}{{- else -}}{{- regexFind "^[0-9]+" .Capabilities.KubeVersion.Minor -}}{{- end -}}
{{- end -}}

{{/* Refuses values that a mode cannot honour: a weaker policy than `policy` must not go unnoticed. */}}
{{- define "setguard.checkMode" -}}
{{- $v := .Values -}}
{{- $policy := $v.policy | default dict -}}
{{- $mode := include "setguard.mode" . -}}
{{- if and (ne $mode "webhook") $v.existingPolicyConfigMap -}}
{{- fail (printf "existingPolicyConfigMap: with mode %s the chart itself has to read the policy; set `policy` instead" $mode) -}}
{{- end -}}
{{- if eq $mode "policies" -}}
{{- $instead := "set mode to both or webhook" -}}
{{- with $policy.limits -}}
{{- fail (printf "policy.limits: the policies of the chart have no limits; remove them, %s, or apply what `setguard export vap` prints" $instead) -}}
{{- end -}}
{{- range $policy.exceptions -}}
{{- with .expires -}}
{{- fail (printf "policy.exceptions: an admission policy has no clock, so the exception until %s would never end; remove `expires`, %s, or apply what `setguard export vap` prints, which leaves out exceptions that have ended" . $instead) -}}
{{- end -}}
{{- end -}}
{{- $mutating := $v.webhook.mutating -}}
{{- if and $mutating.enabled (or $mutating.pods.enabled $mutating.workloads.enabled $mutating.controlPlane.enabled) -}}
{{- if $policy.injection -}}
{{- fail (printf "policy.injection: the policies of the chart inject with the default settings only; set webhook.mutating.enabled=false and apply what `setguard export map` prints, or %s" $instead) -}}
{{- end -}}
{{- $minor := include "setguard.ownMinor" . | int -}}
{{- if lt $minor 36 -}}
{{- fail (printf "mode: injection without a server needs Kubernetes 1.36, and this is 1.%d; set webhook.mutating.enabled=false, or %s" $minor $instead) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
