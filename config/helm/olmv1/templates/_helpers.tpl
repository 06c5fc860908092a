{{- define "olmv1.namespace" -}}
{{ .Values.namespace.name | default .Release.Namespace }}
{{- end }}

{{- /* catalogd has a namespace of its own on OpenShift, whose console reads catalogs from there. */}}
{{- define "olmv1.catalogdNamespace" -}}
{{- $namespace := include "olmv1.namespace" . -}}
{{ ternary "openshift-catalogd" $namespace (eq $namespace "openshift-operator-controller") }}
{{- end }}

{{- /* dict "root" $ "program" NAME */}}
{{- define "olmv1.programNamespace" -}}
{{ include (ternary "olmv1.catalogdNamespace" "olmv1.namespace" (eq .program "catalogd")) .root }}
{{- end }}

{{- /* dict "root" $ "program" NAME. cluster-olm-operator has an image for catalogd, and one for the other servers. */}}
{{- define "olmv1.image" -}}
{{- $options := get .root.Values.options (ternary "catalogd" "operatorController" (eq .program "catalogd")) -}}
{{- if $options.deployment.image -}}
{{ $options.deployment.image }}
{{- else -}}
{{- with .root.Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* cluster-olm-operator may bind this name, and nothing else uses it. */}}
{{- define "olmv1.permissionManagerRole" -}}
{{ ternary "operator-controller-leader-election-role" "permission-manager" .Values.openshift.clusterOlmOperator }}
{{- end }}

{{- define "olmv1.globalPullSecret" -}}
{{ .Values.registries.globalPullSecret | default (ternary "openshift-config/pull-secret" "" .Values.openshift.enabled) }}
{{- end }}

{{- /* dict "root" $ "program" NAME: the labels that select the Pods of a server. With cluster-olm-operator, those of the Deployments that it may have to update. */}}
{{- define "olmv1.selector" -}}
{{- if .root.Values.openshift.clusterOlmOperator -}}
control-plane: {{ .program }}-controller-manager
{{- else -}}
app.kubernetes.io/name: {{ .program }}
{{- end }}
{{- end }}

{{- /* dict "options" OF A SERVER IN options "values" ITS VALUES */}}
{{- define "olmv1.replicas" -}}
{{- $replicas := .options.deployment.replicas -}}
{{ kindIs "invalid" $replicas | ternary .values.replicas $replicas }}
{{- end }}

{{- define "olmv1.tlsSource" -}}
{{- $source := .Values.tls.source | default (ternary "service-ca" "self-managed" .Values.openshift.enabled) -}}
{{- if and (ne $source "service-ca") (ne (include "olmv1.namespace" .) (include "olmv1.catalogdNamespace" .)) }}
{{- fail "tls.source: catalogd has a namespace of its own on OpenShift, so that the other servers cannot mount its Secret: use service-ca" }}
{{- end -}}
{{ $source }}
{{- end }}

{{- /* The Secret with a server's certificate; dict "root" $ "program" NAME. */}}
{{- define "olmv1.tlsSecret" -}}
{{ .program }}-{{ ternary "serving-cert" "cert" (eq (include "olmv1.tlsSource" .root) "self-managed") }}
{{- end }}

{{- /* Settings of catalogd and operator-controller for a Pod: flags, mounts, volumes, environment. */}}
{{- define "olmv1.commonArgs" -}}
{{- if ne (include "olmv1.tlsSource" .) "self-managed" }}
- --tls-cert=/etc/olmv1/tls/tls.crt
- --tls-key=/etc/olmv1/tls/tls.key
{{- end }}
{{- if and .Values.openshift.enabled (not .Values.openshift.clusterOlmOperator) }}
- --tls-profile=cluster
{{- end }}
{{- include "olmv1.serverArgs" . }}
{{- end }}

{{- /* Settings of all servers except the console. */}}
{{- define "olmv1.serverArgs" -}}
{{- with include "olmv1.globalPullSecret" . }}
- --global-pull-secret={{ . }}
{{- end }}
{{- include "olmv1.registryArgs" . }}
{{- if .Values.openshift.clusterOlmOperator }}
- --v=${LOG_VERBOSITY}
{{- end }}
{{- end }}

{{- /* Settings of one server in options: feature gates and additional flags. */}}
{{- define "olmv1.optionArgs" -}}
{{- range .features.enabled }}
- --feature-gates={{ . }}=true
{{- end }}
{{- range .features.disabled }}
- --feature-gates={{ . }}=false
{{- end }}
{{- with .deployment.extraArguments }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Settings of all servers for registries. */}}
{{- define "olmv1.registryArgs" -}}
{{- if .Values.registries.conf }}
- --registries-conf=/etc/olmv1/registries/registries.conf
{{- end }}
{{- if include "olmv1.hasAuthorities" . }}
- --pull-cas-dir=/etc/olmv1/authorities
{{- end }}
{{- if .Values.signatures.policy }}
- --signature-policy=/etc/olmv1/signatures/policy.json
{{- end }}
{{- end }}

{{- /* Whether the servers mount certificate authorities for registries. */}}
{{- define "olmv1.hasAuthorities" -}}
{{- if or .Values.openshift.enabled .Values.registries.conf .Values.registries.authorities }}true{{ end }}
{{- end }}

{{- define "olmv1.permissionsMode" -}}
{{ .Values.permissions.mode | default (ternary "Always" "Managed" .Values.openshift.enabled) }}
{{- end }}

{{- define "olmv1.commonMounts" -}}
- name: tmp
  mountPath: /tmp
{{- if ne (include "olmv1.tlsSource" .) "self-managed" }}
- name: tls
  mountPath: /etc/olmv1/tls
  readOnly: true
{{- end }}
{{- include "olmv1.registryMounts" . }}
{{- end }}

{{- define "olmv1.registryMounts" -}}
{{- if .Values.registries.conf }}
- name: registries
  mountPath: /etc/olmv1/registries
{{- end }}
{{- if include "olmv1.hasAuthorities" . }}
- name: authorities
  mountPath: /etc/olmv1/authorities
{{- end }}
{{- if .Values.signatures.policy }}
- name: signatures
  mountPath: /etc/olmv1/signatures
{{- end }}
{{- end }}

{{- /* dict "root" $ "program" NAME */}}
{{- define "olmv1.commonVolumes" -}}
- name: cache
  emptyDir: {}
- name: tmp
  emptyDir: {}
{{- if ne (include "olmv1.tlsSource" .root) "self-managed" }}
- name: tls
  secret:
    secretName: {{ include "olmv1.tlsSecret" . }}
{{- end }}
{{- include "olmv1.registryVolumes" . }}
{{- end }}

{{- /* dict "root" $ "program" NAME */}}
{{- define "olmv1.registryVolumes" -}}
{{- $program := .program }}
{{- with .root.Values }}
{{- if .registries.conf }}
- name: registries
  configMap:
    name: registries
{{- end }}
{{- if .openshift.enabled }}
# The trusted authorities of the cluster, and those of the service CA.
- name: authorities
  projected:
    sources:
      - configMap:
          name: {{ ternary "catalogd" "operator-controller" (eq $program "catalogd") }}-trusted-ca-bundle
          optional: true
          items: [{ key: ca-bundle.crt, path: ca-bundle.crt }]
      - configMap:
          name: openshift-service-ca.crt
          items: [{ key: service-ca.crt, path: service-ca.crt }]
      {{- if or .registries.conf .registries.authorities }}
      - configMap:
          name: registry-authorities
      {{- end }}
{{- else if or .registries.conf .registries.authorities }}
- name: authorities
  configMap:
    name: registry-authorities
{{- end }}
{{- if .signatures.policy }}
- name: signatures
  configMap:
    name: signatures
{{- end }}
{{- end }}
{{- end }}

{{- define "olmv1.environment" -}}
{{- with .Values.proxy }}
{{- with .http }}
- name: HTTP_PROXY
  value: {{ . | quote }}
{{- end }}
{{- with .https }}
- name: HTTPS_PROXY
  value: {{ . | quote }}
{{- end }}
{{- with .noProxy }}
- name: NO_PROXY
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Scheduling of the Pods of a server; dict "values" ITS VALUES "openshift" WHETHER THE CLUSTER IS OPENSHIFT. */}}
{{- define "olmv1.scheduling" -}}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- else }}
{{- if .openshift }}
nodeSelector:
  kubernetes.io/os: linux
  node-role.kubernetes.io/control-plane: ""
{{- end }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- else }}
{{- if .openshift }}
tolerations:
  - { key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule }
  - { key: node-role.kubernetes.io/master, operator: Exists, effect: NoSchedule }
  - { key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 120 }
  - { key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 120 }
{{- end }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* dict "root" $ "program" NAME "values" VALUES: a server's Pods, up to its containers; the console also has "account" and "container". */}}
{{- define "olmv1.podHead" -}}
metadata:
  labels:
    app.kubernetes.io/name: {{ .program }}
    app.kubernetes.io/part-of: olm
    {{- if .root.Values.openshift.clusterOlmOperator }}
    {{- include "olmv1.selector" . | nindent 4 }}
    {{- end }}
  annotations:
    kubectl.kubernetes.io/default-container: {{ .container | default "manager" }}
    {{- if .root.Values.openshift.enabled }}
    # The strictest SecurityContextConstraints; the user is from the range of the namespace.
    openshift.io/required-scc: restricted-v2
    target.workload.openshift.io/management: '{"effect": "PreferredDuringScheduling"}'
    {{- end }}
    {{- with .values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ .account | default (printf "%s-controller-manager" .program) }}
  terminationGracePeriodSeconds: 30
  {{- with .values.priorityClassName | default (ternary "system-cluster-critical" "" .root.Values.openshift.enabled) }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- if .root.Values.openshift.enabled }}
  # A user namespace: root in a container is not root on the node. API servers without user namespaces ignore the field.
  hostUsers: false
  {{- end }}
  {{- include "olmv1.scheduling" (dict "values" .values "openshift" .root.Values.openshift.enabled) | nindent 2 }}
  # Spreads replicas over nodes and zones.
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          app.kubernetes.io/name: {{ .program }}
    - maxSkew: 1
      topologyKey: topology.kubernetes.io/zone
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          app.kubernetes.io/name: {{ .program }}
  securityContext:
    runAsNonRoot: true
    seccompProfile:
      type: RuntimeDefault
{{- end }}

{{- /* Probes, resources and security of a server's container; its values. */}}
{{- define "olmv1.container" -}}
livenessProbe:
  httpGet:
    path: /healthz
    port: probes
  initialDelaySeconds: 15
  periodSeconds: 20
readinessProbe:
  httpGet:
    path: /readyz
    port: probes
  initialDelaySeconds: 2
  periodSeconds: 5
{{- with .resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
# The last lines of the log describe in the status of the Pod why the server ended.
terminationMessagePolicy: FallbackToLogsOnError
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{- /* dict "root" $ "program" NAME: a Service's metadata. */}}
{{- define "olmv1.serviceMetadata" -}}
name: {{ .program }}-service
namespace: {{ include "olmv1.programNamespace" . }}
labels:
  app.kubernetes.io/name: {{ .program }}
  app.kubernetes.io/part-of: olm
{{- if eq (include "olmv1.tlsSource" .root) "service-ca" }}
annotations:
  service.beta.openshift.io/serving-cert-secret-name: {{ include "olmv1.tlsSecret" . }}
{{- end }}
{{- end }}

{{- /*
dict "root" $ "program" NAME "values" VALUES: a PodDisruptionBudget that keeps one replica running while nodes are drained. The budget of a single
replica would block each drain, so that only options.PROGRAM.podDisruptionBudget.enabled creates it.
*/}}
{{- define "olmv1.podDisruptionBudget" -}}
{{- $options := get .root.Values.options (ternary "catalogd" "operatorController" (eq .program "catalogd")) -}}
{{- $several := gt (include "olmv1.replicas" (dict "options" $options "values" .values) | trim | int) 1 -}}
{{- if kindIs "invalid" $options.podDisruptionBudget.enabled | ternary (and .root.Values.podDisruptionBudgets.enabled $several) $options.podDisruptionBudget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .program }}-controller-manager
  namespace: {{ include "olmv1.programNamespace" . }}
  labels:
    app.kubernetes.io/name: {{ .program }}
    app.kubernetes.io/part-of: olm
spec:
  minAvailable: 1
  # A Pod that is not ready never blocks a drain.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      app.kubernetes.io/name: {{ .program }}
{{- end }}
{{- end }}
