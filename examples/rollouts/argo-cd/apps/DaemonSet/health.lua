local status, stuck = obj.status or {}, (obj.metadata.annotations or {})["setguard.io/stuck"]
if stuck ~= nil then
  local generation, why = string.match(stuck, "^(%d+): (.*)$")
  if tonumber(generation) == obj.metadata.generation then
    return { status = "Degraded", message = why }
  end
end
if (status.observedGeneration or 0) < obj.metadata.generation then
  return { status = "Progressing", message = "the controller has not seen the spec yet" }
end
local wanted = status.desiredNumberScheduled or 0
if wanted == 0 then
  return { status = "Degraded", message = "no node gets a pod" }
end
local to_update = wanted
if (obj.spec.updateStrategy or {}).type == "OnDelete" then to_update = 0 end
local updated, available = status.updatedNumberScheduled or 0, status.numberAvailable or 0
local text = updated .. " of " .. to_update .. " updated, " .. available .. " of " .. wanted .. " available"
if available >= wanted and updated >= to_update then
  return { status = "Healthy", message = text }
end
return { status = "Progressing", message = text }
