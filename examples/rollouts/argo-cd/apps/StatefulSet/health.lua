local status, spec, stuck = obj.status or {}, obj.spec, (obj.metadata.annotations or {})["setguard.io/stuck"]
if stuck ~= nil then
  local generation, why = string.match(stuck, "^(%d+): (.*)$")
  if tonumber(generation) == obj.metadata.generation then
    return { status = "Degraded", message = why }
  end
end
if (status.observedGeneration or 0) < obj.metadata.generation then
  return { status = "Progressing", message = "the controller has not seen the spec yet" }
end
local strategy = spec.updateStrategy or {}
local wanted = spec.replicas
if wanted == nil then wanted = 1 end
local to_update = wanted
if strategy.type == "OnDelete" then
  to_update = 0
elseif strategy.rollingUpdate ~= nil then
  to_update = wanted - (strategy.rollingUpdate.partition or 0)
end
if to_update < 0 then to_update = 0 end
if wanted > 0 and to_update == 0 and strategy.type ~= "OnDelete" and (status.updatedReplicas or 0) == 0
  and status.currentRevision ~= status.updateRevision then
  return { status = "Degraded", message = "the partition covers all pods, so nothing is rolled out" }
end
local updated, available = status.updatedReplicas or 0, status.availableReplicas or 0
local text = updated .. " of " .. to_update .. " updated, " .. available .. " of " .. wanted .. " available"
if (status.replicas or 0) == wanted and available >= wanted and updated >= to_update then
  return { status = "Healthy", message = text }
end
return { status = "Progressing", message = text }
