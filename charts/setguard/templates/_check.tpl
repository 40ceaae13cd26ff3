{{/*
Refuses values that render, but that the API server or setguard would refuse later. The schema has the simple checks; these depend
on several values, or need a better message.
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
{{- $byte := "(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])" -}}
{{- $ipv4 := printf "%s(\\.%s){3}" $byte $byte -}}
{{- $group := "[0-9a-fA-F]{1,4}" -}}
{{- $whole := printf "(%s:){7}%s|(%s:){6}%s" $group $group $group $ipv4 -}}
{{- $short := printf "(%s(:%s)*)?::(%s(:%s)*|(%s:)*%s)?" $group $group $group $group $group $ipv4 -}}
{{- if not (regexMatch (printf "^(\\[(%s|%s)\\]|%s)$" $whole $short $ipv4) (toString $v.listen.host)) -}}
{{- fail (printf "listen.host: must be an IPv4 address or an IPv6 address in brackets, such as [::]; not %q" (toString $v.listen.host)) -}}
{{- end -}}
{{- with $v.image -}}
{{- if not (regexMatch "^([A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?(/[A-Za-z0-9._-]+)*)?$" (toString (.registry | default ""))) -}}
{{- fail (printf "image.registry: must be a host without https:// and without a slash at the end; not %q" (toString .registry)) -}}
{{- end -}}
{{- if not (regexMatch "^[a-z0-9]+([._:/-]+[a-z0-9]+)*$" (toString (.repository | default ""))) -}}
{{- fail (printf "image.repository: must be the name of an image without a tag; not %q" (toString .repository)) -}}
{{- end -}}
{{- $mirror := coalesce (default dict $v.global).imageRegistry (ternary "" .registry (eq (toString .registry) "ghcr.io")) -}}
{{- if and $mirror (eq (include "setguard.namesRegistry" .repository) "true") -}}
{{- fail (printf "image.repository: %q names a registry, and so do image.registry or global.imageRegistry (%s); set one of them" .repository $mirror) -}}
{{- end -}}
{{- if regexMatch "//|[._:/-]{3}|:[^/]*$" (toString (.repository | default "")) -}}
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
{{- include "setguard.checkLabels" $v -}}
{{- include "setguard.checkResources" $v -}}
{{- if eq (int $v.service.port) (int $v.service.metricsPort) -}}
{{- fail "service.metricsPort: must differ from service.port" -}}
{{- end -}}
{{- if and $v.metrics.serviceMonitor.enabled $v.metrics.podMonitor.enabled -}}
{{- fail "metrics.podMonitor.enabled: with metrics.serviceMonitor.enabled each pod would be scraped twice; enable one of them" -}}
{{- end -}}
{{- include "setguard.checkMode" . -}}
{{- include "setguard.checkServer" . -}}
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
{{- include "setguard.checkSchedule" $v.audit -}}
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

{{/* Values that keep the server from starting, or block others. */}}
{{- define "setguard.checkServer" -}}
{{- $v := .Values -}}
{{- $replicas := ternary $v.autoscaling.minReplicas $v.replicaCount (eq (toString $v.autoscaling.enabled) "true") -}}
{{- $budget := $v.podDisruptionBudget -}}
{{- if $budget.enabled -}}
{{- if kindIs "invalid" $budget.minAvailable -}}
{{- if regexMatch "^0+%?$" (toString $budget.maxUnavailable) -}}
{{- fail "podDisruptionBudget.maxUnavailable: with 0 no node with a replica could be drained; use 1, or set podDisruptionBudget.enabled=false" -}}
{{- end -}}
{{- else -}}
{{- $least := int $budget.minAvailable -}}
{{- $percent := trimSuffix "%" (toString $budget.minAvailable) -}}
{{- $isPercent := ne $percent (toString $budget.minAvailable) -}}
{{- /* Kubernetes rounds up. */}}
{{- if $isPercent -}}{{- $least = div (add (mul (int $percent) (int $replicas)) 99) 100 -}}{{- end -}}
{{- if or (and $isPercent (ge (int $percent) 100)) (and (not (kindIs "invalid" $replicas)) (gt (int $replicas) 0) (ge (int $least) (int $replicas))) -}}
{{- fail (printf "podDisruptionBudget.minAvailable: with %v of %v replicas no node with a replica could be drained; use less, or maxUnavailable" $budget.minAvailable $replicas) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if lt (int $v.shutdown.graceSeconds) (int $v.webhook.timeoutSeconds) -}}
{{- fail (printf "shutdown.graceSeconds: %d is less than webhook.timeoutSeconds, which is %d, so requests would be cut off" (int $v.shutdown.graceSeconds) (int $v.webhook.timeoutSeconds)) -}}
{{- end -}}
{{- range $name := list "startupProbe" "livenessProbe" "readinessProbe" -}}
{{- range $key := list "httpGet" "tcpSocket" "grpc" -}}
{{- with get (default dict (get $v $name)) $key -}}
{{- if and (hasKey . "port") (not (has (toString .port) (list "webhook" "admin" (toString $v.listen.port) (toString $v.listen.adminPort)))) -}}
{{- fail (printf "%s.%s.port: setguard has the ports webhook and admin, and not %q" $name $key (toString .port)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $flags := dict
  "listen" "listen" "admin-listen" "listen.adminPort" "policy" "policy" "if-policy-invalid" "" "tls-managed" "tls.mode"
  "tls-managed-namespace" "namespaceOverride" "tls-managed-secret" "tls.secretName" "tls-managed-webhook-config" "fullnameOverride"
  "tls-cert" "tls.secretName" "tls-key" "tls.secretName" "arm-webhooks" "webhook.arm" "arm-rehearsal" "webhook.arm" "arm-annotations" "webhook.arm" "arm-compare-only" "webhook.arm"
  "arm-owner" "webhook.ownedByNamespace" "inventory" "inventory.mode" "discover-feature-gates" "inventory.featureGates"
  "tls-min-version" "tls.minVersion" "client-ca" "tls.clientCA" "drain-delay" "shutdown.drainSeconds"
  "grace-period" "shutdown.graceSeconds" "log-format" "log.format" "log-level" "log.level" -}}
{{- include "setguard.checkFlags" (dict "field" "extraArgs" "args" $v.extraArgs "flags" $flags) -}}
{{- $flags = dict "cluster-reports" "audit.clusterReports" "exit-zero" "" "policy" "policy" "metrics-file" "audit.metricsFile" -}}
{{- include "setguard.checkFlags" (dict "field" "audit.extraArgs" "args" $v.audit.extraArgs "flags" $flags) -}}
{{- $own := list "policy" -}}
{{- include "setguard.checkVolumes" (dict "field" "audit.extra" "volumes" $v.audit.extraVolumes "mounts" $v.audit.extraVolumeMounts "own" $own) -}}
{{- if ne $v.tls.mode "managed" -}}{{- $own = append $own "tls" -}}{{- end -}}
{{- if $v.tls.clientCA.configMapName -}}{{- $own = append $own "client-ca" -}}{{- end -}}
{{- include "setguard.checkVolumes" (dict "field" "extra" "volumes" $v.extraVolumes "mounts" $v.extraVolumeMounts "own" $own) -}}
{{- if eq $v.tls.mode "certManager" -}}
{{- $times := $v.tls.certManager -}}
{{- if lt (float64 (include "setguard.seconds" $times.duration)) 3600.0 -}}
{{- fail (printf "tls.certManager.duration: cert-manager issues for at least 1h; not %s" $times.duration) -}}
{{- end -}}
{{- if ge (float64 (include "setguard.seconds" $times.renewBefore)) (float64 (include "setguard.seconds" $times.duration)) -}}
{{- fail (printf "tls.certManager.renewBefore: %s is not less than the duration, which is %s" $times.renewBefore $times.duration) -}}
{{- end -}}
{{- if and (not $times.issuerRef.name) (lt (float64 (include "setguard.seconds" $times.caDuration)) (float64 (include "setguard.seconds" $times.duration))) -}}
{{- fail (printf "tls.certManager.caDuration: %s is less than the duration of the certificate, which is %s" $times.caDuration $times.duration) -}}
{{- end -}}
{{- end -}}
{{- range $name := list "serviceMonitor" "podMonitor" -}}
{{- $times := get $v.metrics $name -}}
{{- if gt (float64 (include "setguard.seconds" $times.scrapeTimeout)) (float64 (include "setguard.seconds" $times.interval)) -}}
{{- fail (printf "metrics.%s.scrapeTimeout: %s is more than the interval, which is %s" $name $times.scrapeTimeout $times.interval) -}}
{{- end -}}
{{- end -}}
{{- if and $v.service.nodePort (eq $v.service.type "ClusterIP") -}}
{{- fail "service.nodePort: needs service.type NodePort or LoadBalancer" -}}
{{- end -}}
{{- if and (eq $v.service.ipFamilyPolicy "SingleStack") (gt (len $v.service.ipFamilies) 1) -}}
{{- fail "service.ipFamilies: with service.ipFamilyPolicy SingleStack there is one family" -}}
{{- end -}}
{{- end -}}

{{/* Flags that the chart sets already: a command does not start with one of them twice. */}}
{{- define "setguard.checkFlags" -}}
{{- range .args -}}
{{- $flag := regexReplaceAll "^--([^= ]*).*$" (toString .) "${1}" -}}
{{- if hasKey $.flags $flag -}}
{{- fail (printf "%s: the chart sets --%s already%s" $.field $flag (get $.flags $flag | empty | ternary "" (printf "; set %s instead" (get $.flags $flag)))) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Names of volumes that exist twice, or not at all. */}}
{{- define "setguard.checkVolumes" -}}
{{- $names := .own -}}
{{- range .volumes -}}
{{- if has .name $names -}}
{{- fail (printf "%sVolumes: a volume named %q exists already in the pod; choose another name" $.field .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- range .mounts -}}
{{- if not (has .name $names) -}}
{{- fail (printf "%sVolumeMounts: the pod has no volume named %q; add it to %sVolumes" $.field .name $.field) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A duration such as 1h30m in seconds. */}}
{{- define "setguard.seconds" -}}
{{- $seconds := 0.0 -}}
{{- $units := dict "ms" 0.001 "s" 1.0 "m" 60.0 "h" 3600.0 -}}
{{- range regexFindAll "[0-9.]+(ms|s|m|h)" (toString .) -1 -}}
{{- $number := regexFind "^[0-9.]+" . -}}
{{- $seconds = addf $seconds (mulf (float64 $number) (get $units (trimPrefix $number .))) -}}
{{- end -}}
{{- $seconds -}}
{{- end -}}

{{/* The keys of annotations, and the keys and values of labels. */}}
{{- define "setguard.checkLabels" -}}
{{- $all := dict
  "commonLabels" .commonLabels "podLabels" .podLabels "nodeSelector" .nodeSelector "audit.nodeSelector" .audit.nodeSelector
  "service.labels" .service.labels "webhook.labels" .webhook.labels
  "webhook.validating.systemNamespaceLabels" .webhook.validating.systemNamespaceLabels
  "metrics.serviceMonitor.labels" .metrics.serviceMonitor.labels "metrics.podMonitor.labels" .metrics.podMonitor.labels
  "metrics.prometheusRule.labels" .metrics.prometheusRule.labels "metrics.dashboard.labels" .metrics.dashboard.labels -}}
{{- $part := "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?" -}}
{{- $annotations := dict
  "commonAnnotations" .commonAnnotations "webhook.annotations" .webhook.annotations "service.annotations" .service.annotations
  "serviceAccount.annotations" .serviceAccount.annotations "podAnnotations" .podAnnotations
  "deploymentAnnotations" .deploymentAnnotations "cleanup.podAnnotations" .cleanup.podAnnotations
  "audit.podAnnotations" .audit.podAnnotations "test.podAnnotations" .test.podAnnotations
  "metrics.serviceMonitor.annotations" .metrics.serviceMonitor.annotations
  "metrics.podMonitor.annotations" .metrics.podMonitor.annotations
  "metrics.prometheusRule.annotations" .metrics.prometheusRule.annotations
  "metrics.dashboard.annotations" .metrics.dashboard.annotations -}}
{{- range $field, $pairs := $annotations -}}
{{- range $key, $_ := $pairs -}}
{{- if not (regexMatch (printf "^([A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?/)?%s$" $part) $key) -}}
{{- fail (printf "%s: %q must be the key of an annotation" $field $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $field, $labels := $all -}}
{{- range $key, $value := $labels -}}
{{- if not (regexMatch (printf "^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?%s$" $part) $key) -}}
{{- fail (printf "%s: %q must be the key of a label" $field $key) -}}
{{- end -}}
{{- if not (regexMatch (printf "^(%s)?$" $part) (toString $value)) -}}
{{- fail (printf "%s.%s: must be the value of a label; not %q" $field $key (toString $value)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Requests above their limits. */}}
{{- define "setguard.checkResources" -}}
{{- $all := dict "resources" .resources "audit.resources" .audit.resources "cleanup.resources" .cleanup.resources "test.resources" .test.resources -}}
{{- range $field, $resources := $all -}}
{{- $limits := dict -}}
{{- range $name, $limit := (default dict $resources).limits -}}
{{- $_ := set $limits $name (include "setguard.quantity" (dict "field" (printf "%s.limits.%s" $field $name) "value" $limit)) -}}
{{- end -}}
{{- range $name, $request := (default dict $resources).requests -}}
{{- $quantity := include "setguard.quantity" (dict "field" (printf "%s.requests.%s" $field $name) "value" $request) -}}
{{- with get $limits $name -}}
{{- if gt (float64 $quantity) (float64 .) -}}
{{- fail (printf "%s.requests.%s: %v is more than the limit, which is %v" $field $name $request (get $resources.limits $name)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A quantity such as 50m or 64Mi as a number; empty if it is null. */}}
{{- define "setguard.quantity" -}}
{{- if not (kindIs "invalid" .value) -}}
{{- $text := toString .value -}}
{{- $number := "^([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][-+]?[0-9]+)?" -}}
{{- if not (regexMatch (printf "%s([numkMGTPE]|[KMGTPE]i)?$" $number) $text) -}}
{{- fail (printf "%s: must be a quantity such as 50m or 64Mi; not %q" .field $text) -}}
{{- end -}}
{{- $factors := dict
  "" 1.0 "n" 1e-9 "u" 1e-6 "m" 1e-3 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18
  "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 "Pi" 1125899906842624.0 "Ei" 1152921504606846976.0 -}}
{{- $value := regexFind $number $text -}}
{{- mulf (float64 $value) (get $factors (trimPrefix $value $text)) -}}
{{- end -}}
{{- end -}}

{{/* The schedule of the audit as the API server reads it, and its time zone. */}}
{{- define "setguard.checkSchedule" -}}
{{- $fields := list -}}
{{- range $value := list
  "[0-5]?[0-9]" "([01]?[0-9]|2[0-3])" "(0?[1-9]|[12][0-9]|3[01])"
  "(0?[1-9]|1[0-2]|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))" "(0?[0-6]|(?i:sun|mon|tue|wed|thu|fri|sat))" -}}
{{- $one := printf "([*?]|%s(-%s)?)(/0*[1-9][0-9]*)?" $value $value -}}
{{- $fields = append $fields (printf "%s(,%s)*" $one $one) -}}
{{- end -}}
{{- $named := "@(hourly|daily|midnight|weekly|monthly|yearly|annually|every ([0-9.]+(h|m|s))+)" -}}
{{- if not (regexMatch (printf "^(%s| *%s *)$" $named (join " +" $fields)) (toString .schedule)) -}}
{{- fail (printf "audit.schedule: must be five fields as in cron, minute, hour, day, month and weekday (0 to 6); not %q" (toString .schedule)) -}}
{{- end -}}
{{- /* The areas of the time zone database, and its names without an area. */}}
{{- $areas := "Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Brazil|Canada|Chile|Etc|Europe|Indian|Mexico|Pacific|US" -}}
{{- $alone := "CET|CST6CDT|Cuba|EET|EST|EST5EDT|Egypt|Eire|Factory|GB|GB-Eire|GMT|GMT[+-]?0|Greenwich|HST|Hongkong|Iceland|Iran|Israel|Jamaica|Japan|Kwajalein|Libya|MET|MST|MST7MDT|NZ|NZ-CHAT|Navajo|PRC|PST8PDT|Poland|Portugal|ROC|ROK|Singapore|Turkey|UCT|UTC|Universal|W-SU|WET|Zulu" -}}
{{- if not (regexMatch (printf "^((%s)(/[A-Za-z0-9_+-]+)+|%s)?$" $areas $alone) (toString (.timeZone | default ""))) -}}
{{- fail (printf "audit.timeZone: must be a name of the time zone database, such as Europe/Berlin or UTC; not %q" (toString .timeZone)) -}}
{{- end -}}
{{- end -}}
