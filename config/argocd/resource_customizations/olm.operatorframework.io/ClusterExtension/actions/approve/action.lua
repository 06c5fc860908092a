-- Approves exactly the plan in the status that Argo CD has read.
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["olm.operatorframework.io/approve"] = obj.status.plan.digest
return obj
