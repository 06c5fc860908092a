import { join } from "node:path";
import { expect, test } from "vitest";
import type { KubeObject } from "../../../../pkg/api/k8s.ts";
import { parseInstalledCsv } from "../../../../pkg/migrate/clusterServiceVersion.ts";
import { checkMigrated, decideEligibility } from "../../../../pkg/migrate/eligibility.ts";
import type { EligibilityInput } from "../../../../pkg/migrate/eligibilityInput.ts";
import { buildExtension } from "../../../../pkg/migrate/extensionManifest.ts";
import { describeConvertedObject, describeLeftover } from "../../../../pkg/migrate/objectConversion.ts";
import { parseOperatorGroup } from "../../../../pkg/migrate/operatorGroup.ts";
import type { Conversion } from "../../../../pkg/migrate/planConversion.ts";
import { parseSubscription } from "../../../../pkg/migrate/subscription.ts";
import type { SurveyedSubscription } from "../../../../pkg/migrate/survey.ts";
import { formatCheck } from "./check.ts";
import { formatConversion } from "./conversionText.ts";

const GOLDENS = join(import.meta.dirname, "../../../../test/goldens/cli");
const NAMESPACE = "operators";

function createSubscription(name: string, spec: object = {}): KubeObject {
  return {
    apiVersion: "operators.coreos.com/v1alpha1",
    kind: "Subscription",
    metadata: { name, namespace: NAMESPACE },
    spec: { name, channel: "stable", source: "community-operators", sourceNamespace: "olm", ...spec },
    status: { state: "AtLatestKnown", installedCSV: `${name}.v1.2.0`, currentCSV: `${name}.v1.2.0` },
  };
}

function createCsv(name: string, spec: object = {}): KubeObject {
  return {
    apiVersion: "operators.coreos.com/v1alpha1",
    kind: "ClusterServiceVersion",
    metadata: { name: `${name}.v1.2.0`, namespace: NAMESPACE },
    spec: { version: "1.2.0", installModes: [{ type: "AllNamespaces", supported: true }], ...spec },
    status: { phase: "Succeeded" },
  };
}

const GROUP: KubeObject = {
  apiVersion: "operators.coreos.com/v1",
  kind: "OperatorGroup",
  metadata: { name: "global-operators", namespace: NAMESPACE },
  spec: {},
  status: { namespaces: [""] },
};
const createOffer = (name: string) => ({
  catalog: "community-operators",
  priority: 0,
  version: "1.2.0",
  image: `quay.io/example/${name}-bundle:v1.2.0`,
  channels: ["stable"],
});

function survey(name: string, parts: { spec?: object; csv?: object; around?: Partial<EligibilityInput> } = {}): SurveyedSubscription {
  const [subscription, csv] = [createSubscription(name, parts.spec), createCsv(name, parts.csv)];
  const read = parseSubscription(subscription);
  const group = parseOperatorGroup(GROUP);
  const offer = createOffer(name);
  const verdict = decideEligibility(read, {
    csv: parseInstalledCsv(csv),
    groups: [group],
    subscriptions: [read],
    csvs: [],
    extensions: [],
    offers: { catalogs: ["community-operators"], bundles: [offer], unread: [] },
    extensionName: name,
    ...parts.around,
  });
  const extension = buildExtension({ name, subscription: read, group, offer, needsOlmV0: false, serviceAccount: `${name}-installer` });
  const eligible = verdict.offer ? { eligible: { subscription, csv, group: GROUP, offer, extension } } : {};
  return { namespace: NAMESPACE, name, packageName: read.packageName, version: "1.2.0", approval: read.approval, verdict, ...eligible };
}

const migrated = checkMigrated({ name: "quay", packageName: "quay", migratedFrom: "operators/quay", step: "Installed" }, []);
const FOUND: SurveyedSubscription[] = [
  survey("argocd-operator", { spec: { installPlanApproval: "Manual", config: { env: [{ name: "LOG", value: "debug" }] } } }),
  survey("keycloak-operator", {
    csv: { installModes: [{ type: "OwnNamespace", supported: true }] },
    around: { offers: { catalogs: [], bundles: [], unread: [] } },
  }),
  survey("prometheus", { around: { extensions: [{ name: "monitoring", packageName: "prometheus" }] } }),
  ...(migrated
    ? [{ namespace: NAMESPACE, name: "quay", packageName: "quay", version: "3.10.0", approval: undefined, verdict: migrated }]
    : []),
];

test.for([80, 200])("formatCheck prints every state in %i columns", async (width) => {
  await expect(formatCheck({ width, colour: false }, FOUND)).toMatchFileSnapshot(join(GOLDENS, `migrate-check-${width}.txt`));
});

test("formatCheck reports that no Subscriptions were found", () => {
  expect(formatCheck({ width: 80, colour: false }, [])).toBe("no Subscriptions found\n");
});

test("formatConversion prints steps, objects, changed fields and manifests", async () => {
  const [{ eligible } = {}] = FOUND;
  if (!eligible) throw new Error("the first Subscription is eligible");
  const deployment = { apiVersion: "apps/v1", kind: "Deployment", namespace: NAMESPACE, name: "argocd-operator" };
  const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", name: "argocd-operator.v1.2.0-3kqz" };
  const account: KubeObject = {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "argocd-operator-installer", namespace: NAMESPACE },
  };
  const conversion: Conversion = {
    source: eligible,
    csv: { namespace: NAMESPACE, name: "argocd-operator.v1.2.0", definitions: [], packageName: "argocd-operator" },
    installerManifests: [account],
    objects: [
      describeConvertedObject(
        deployment,
        [{ path: "spec.template.spec.containers[name=manager].env[name=LOG].value", before: '"info"', after: '"debug"' }],
        "other",
      ),
      describeConvertedObject({ apiVersion: "v1", kind: "ServiceAccount", namespace: NAMESPACE, name: "argocd-operator" }, [], "none"),
      describeConvertedObject({ ...role, name: "argocd-operator.v1.2.0-1a2b3c" }, [], undefined),
      describeLeftover(role),
    ],
    grants: [],
    findings: [],
    notes: ["the API server warns about Deployment operators/argocd-operator: would violate PodSecurity"],
  };
  await expect(formatConversion(conversion)).toMatchFileSnapshot(join(GOLDENS, "migrate-convert.txt"));
});
