{{/*
Values that render, and that the API server or setguard itself would refuse later. What the schema can say stands
there; here is what depends on several values, or deserves a sentence.
*/}}
{{- define "setguard.checkValues" -}}
{{- $v := .Values -}}
{{- $name := include "setguard.fullname" . -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) -}}
{{- fail (printf "fullnameOverride: the name would be %q, but a Service's name has only lower case letters, digits and dashes and begins with a letter; set fullnameOverride" $name) -}}
{{- end -}}
{{- if and $v.audit.enabled (gt (len $name) 46) -}}
{{- fail (printf "fullnameOverride: the name %q has %d characters; with audit.enabled at most 46, because a CronJob's name has at most 52" $name (len $name)) -}}
{{- end -}}
{{- if not (regexMatch "^(\\[[0-9a-fA-F:.]*\\]|[0-9]{1,3}(\\.[0-9]{1,3}){3})$" (toString $v.listen.host)) -}}
{{- fail (printf "listen.host: must be an IPv4 address or an IPv6 address in brackets, such as [::]; not %q" (toString $v.listen.host)) -}}
{{- end -}}
{{- with $v.image -}}
{{- if not (regexMatch "^([A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?(/[A-Za-z0-9._-]+)*)?$" (toString (.registry | default ""))) -}}
{{- fail (printf "image.registry: must be a host without https:// and without a slash at the end; not %q" (toString .registry)) -}}
{{- end -}}
{{- if not (regexMatch "^[a-z0-9]+([._:/-]+[a-z0-9]+)*$" (toString (.repository | default ""))) -}}
{{- fail (printf "image.repository: must be the name of an image without a tag; not %q" (toString .repository)) -}}
{{- end -}}
{{- if regexMatch "//|[._:/-]{3}" (toString (.repository | default "")) -}}
{{- fail (printf "image.repository: must be the name of an image without a tag; not %q" (toString .repository)) -}}
{{- end -}}
{{- if not (regexMatch "^([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$" (toString (.tag | default ""))) -}}
{{- fail (printf "image.tag: must be a tag; not %q" (toString .tag)) -}}
{{- end -}}
{{- end -}}
{{- with $v.tls.clientCA.key -}}
{{- if or (not (regexMatch "^[-._a-zA-Z0-9]+$" (toString .))) (hasPrefix ".." (toString .)) -}}
{{- fail (printf "tls.clientCA.key: must be a key of the ConfigMap; not %q" (toString .)) -}}
{{- end -}}
{{- end -}}
{{- range $key, $value := $v.commonLabels -}}
{{- if not (regexMatch "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$" (toString $value)) -}}
{{- fail (printf "commonLabels.%s: must be the value of a label; not %q" $key (toString $value)) -}}
{{- end -}}
{{- end -}}
{{- if and $v.metrics.serviceMonitor.enabled $v.metrics.podMonitor.enabled -}}
{{- fail "metrics.podMonitor.enabled: with metrics.serviceMonitor.enabled each pod would be scraped twice; enable one of them" -}}
{{- end -}}
{{- if and $v.existingPolicyConfigMap $v.policy -}}
{{- fail "policy: is not used with existingPolicyConfigMap; leave one of them empty" -}}
{{- end -}}
{{- if has "system:authenticated" $v.webhook.validating.exemptGroups -}}
{{- fail "webhook.validating.exemptGroups: every user is in system:authenticated; to validate nothing, set webhook.validating.enabled=false" -}}
{{- end -}}
{{- if and $v.autoscaling.enabled (gt (int $v.autoscaling.minReplicas) (int $v.autoscaling.maxReplicas)) -}}
{{- fail (printf "autoscaling.minReplicas: must be at most autoscaling.maxReplicas, which is %d" (int $v.autoscaling.maxReplicas)) -}}
{{- end -}}
{{- with $v.updateStrategy.rollingUpdate -}}
{{- if and (hasKey . "maxSurge") (hasKey . "maxUnavailable") (has (toString .maxSurge) (list "0" "0%")) (has (toString .maxUnavailable) (list "0" "0%")) -}}
{{- fail "updateStrategy.rollingUpdate: maxSurge and maxUnavailable are both 0, so no pod could be replaced" -}}
{{- end -}}
{{- end -}}
{{- if and (eq $v.dnsPolicy "None") (not (dig "nameservers" list ($v.dnsConfig | default dict))) -}}
{{- fail "dnsConfig.nameservers: dnsPolicy is None, so name at least one server" -}}
{{- end -}}
{{- if and $v.hostNetwork (kindIs "bool" $v.hostUsers) (not $v.hostUsers) -}}
{{- fail "hostUsers: must not be false with hostNetwork; a pod in the network of its node has the users of the node too" -}}
{{- end -}}
{{- $containers := list "setguard" -}}
{{- range $key := list "extraContainers" "initContainers" -}}
{{- range get $v $key -}}
{{- if has .name $containers -}}
{{- fail (printf "%s: a container named %q exists already in the pod; choose another name" $key .name) -}}
{{- end -}}
{{- $containers = append $containers .name -}}
{{- end -}}
{{- end -}}
{{- if $v.audit.enabled -}}
{{- if not (regexMatch "^(@(hourly|daily|midnight|weekly|monthly|yearly|annually)|[-*/,?0-9A-Za-z]+( +[-*/,?0-9A-Za-z]+){4})$" (toString $v.audit.schedule)) -}}
{{- fail (printf "audit.schedule: must be five fields as in cron; not %q" (toString $v.audit.schedule)) -}}
{{- end -}}
{{- if not (regexMatch "^([A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*)?$" (toString ($v.audit.timeZone | default ""))) -}}
{{- fail (printf "audit.timeZone: must be a name such as Europe/Berlin; not %q" (toString $v.audit.timeZone)) -}}
{{- end -}}
{{- with $v.audit.metricsFile -}}
{{- $file := toString . -}}
{{- $isKept := false -}}
{{- range $v.audit.extraVolumeMounts -}}
{{- if hasPrefix (printf "%s/" (trimSuffix "/" (toString .mountPath))) $file -}}{{- $isKept = true -}}{{- end -}}
{{- end -}}
{{- if not $isKept -}}
{{- fail (printf "audit.metricsFile: %s would be gone with the pod, and its file system is read-only; mount a volume above it with audit.extraVolumes and audit.extraVolumeMounts" $file) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
