import { expect, test } from "vitest";
import { parseFlags as parseCatalogd } from "../catalogd/flags.ts";
import { parseFlags as parseController } from "../operator-controller/flags.ts";
import { featureGatesFlag } from "./flags.ts";

const flag = featureGatesFlag({
  A: { stage: "alpha", byDefault: true },
  B: { stage: "beta", byDefault: false },
  C: { stage: "alpha", byDefault: false, fixed: "C does not exist" },
});

// Source: C-04, I-28.
test.for([
  ["", { A: true, B: false, C: false }, []],
  ["A=false", { A: false, B: false, C: false }, []],
  [" A = f , B=1,", { A: false, B: true, C: false }, []],
  ["A=false,A=true", { A: true, B: false, C: false }, []],
  ["C=true", { A: true, B: false, C: false }, ["C=true: C does not exist"]],
  ["C=false", { A: true, B: false, C: false }, []],
  ["AllAlpha=false", { A: false, B: false, C: false }, []],
  ["AllAlpha=true,AllBeta=true,A=false", { A: false, B: true, C: false }, []],
] as const)("featureGatesFlag parses %j", ([text, enabled, ignored]) => {
  expect(flag.parse(text)).toEqual({ enabled, ignored });
});

test.for([
  ["A", "missing bool value for A"],
  ["A=on", 'invalid value of A=on, err: strconv.ParseBool: parsing "on": invalid syntax'],
  ["X=true", "unrecognized feature gate: X; known are A, B, C"],
  ["constructor=true", "unrecognized feature gate: constructor; known are A, B, C"],
] as const)("featureGatesFlag rejects %j: %s", ([text, message]) => {
  const { error } = flag.safeParse(text);
  expect(error?.issues.map((issue) => issue.message)).toEqual([message]);
});

test("catalogd enables both gated endpoints by default, and disables each with its feature gate", () => {
  expect(parseCatalogd([])).toMatchObject({ "feature-gates": { enabled: { APIV1MetasHandler: true, GraphQLCatalogQueries: true } } });
  expect(parseCatalogd(["--feature-gates=GraphQLCatalogQueries=false", "--feature-gates=APIV1MetasHandler=true"])).toMatchObject({
    "feature-gates": { enabled: { APIV1MetasHandler: true, GraphQLCatalogQueries: false }, ignored: [] },
  });
});

// Arguments of the Deployments: openshift/operator-framework-operator-controller at 02af4816, openshift/{catalogd,operator-controller}/manifests*.yaml,
// and what cluster-olm-operator at 9983877d adds (pkg/controller/observedconfig_hook.go, internal/featuregates/mapper.go).
const CERTIFICATE = [
  "--tls-cert=/var/certs/tls.crt",
  "--tls-key=/var/certs/tls.key",
  "--v=2",
  "--global-pull-secret=openshift-config/pull-secret",
];
const TLS = [
  "--tls-custom-version=TLSv1.2",
  "--tls-custom-ciphers=TLS_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
  "--tls-profile=custom",
];

test.for([
  ["standard", [], []],
  [
    "experimental",
    [
      "WebhookProviderOpenshiftServiceCA=true",
      "SingleOwnNamespaceInstallSupport=true",
      "PreflightPermissions=true",
      "WebhookProviderCertManager=false",
      "HelmChartSupport=false",
      "BoxcutterRuntime=false",
    ],
    ["WebhookProviderCertManager=false: see --webhook-cert-provider"],
  ],
  [
    "with all gates",
    ["SyntheticPermissions=true", "HelmChartSupport=true", "BoxcutterRuntime=true", "PreflightPermissions=false", "DeploymentConfig=true"],
    [
      "BoxcutterRuntime=true: bundles are always applied as releases in Secrets",
      "PreflightPermissions=false: permissions are always checked before a bundle is applied",
      "SyntheticPermissions=true: permission-manager grants permissions to extensions without a ServiceAccount",
      "HelmChartSupport=true: only registry+v1 bundles are supported",
    ],
  ],
] as const)(
  "operator-controller accepts the arguments of OpenShift's Deployment, %s, and reports gates without effect",
  ([, gates, ignored]) => {
    const serving = [
      "--health-probe-bind-address=:8081",
      "--metrics-bind-address=:8443",
      "--leader-elect",
      "--catalogd-cas-dir=/var/ca-certs",
    ];
    const given = gates.map((gate) => `--feature-gates=${gate}`);
    expect(parseController([...serving, ...given, ...CERTIFICATE, ...TLS])).toMatchObject({
      "leader-elect": true,
      "feature-gates": { ignored },
    });
  },
);

test.for(["true", "false"])("catalogd accepts the arguments of OpenShift's Deployment with APIV1MetasHandler=%s", (value) => {
  const serving = ["--leader-elect", "--metrics-bind-address=:7443", "--external-address=catalogd-service.openshift-catalogd.svc"];
  expect(parseCatalogd([...serving, `--feature-gates=APIV1MetasHandler=${value}`, ...CERTIFICATE, ...TLS])).toMatchObject({
    "feature-gates": { enabled: { APIV1MetasHandler: value === "true" }, ignored: [] },
  });
});
