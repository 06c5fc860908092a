local os = require("os")
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["olm.operatorframework.io/reconcile-requested-at"] = os.date("!%Y-%m-%dT%XZ")
return obj
