/** The files of a small bundle of package `name` that provides one API. */
export function authoredBundle(name: string, version: string): Record<string, string> {
  return {
    "metadata/annotations.yaml": `annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.package.v1: ${name}
`,
    "manifests/csv.yaml": `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: ${name}.v${version}
  annotations: {capabilities: Basic Install}
spec:
  displayName: ${name} operator
  description: Runs ${name}s.
  version: ${version}
  icon: [{base64data: PHN2Zy8+, mediatype: image/svg+xml}]
  installModes: [{type: AllNamespaces, supported: true}]
  customresourcedefinitions:
    owned: [{name: ${name}s.example.com, version: v1, kind: ${name.replace(/^./, (letter) => letter.toUpperCase())}}]
  install:
    strategy: deployment
    spec:
      deployments:
        - name: ${name}
          spec:
            selector: {matchLabels: {app: ${name}}}
            template:
              metadata: {labels: {app: ${name}}}
              spec: {containers: [{name: manager, image: "quay.io/example/${name}:v${version}"}]}
`,
    "manifests/crd.yaml": `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${name}s.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: ${name.replace(/^./, (letter) => letter.toUpperCase())}, plural: ${name}s}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`,
  };
}
