import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bundleFiles } from "../../test/cases/topics/render.ts";
import { describeWithData } from "../../test/support/sharedData.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { loadBundle } from "../bundle/load.ts";
import type { RegistryV1Bundle } from "../bundle/types.ts";
import { selfSigned } from "../certificates/providers.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { renderBundle } from "../render/render.ts";
import { compareText } from "../text/compare.ts";
import { parseInstalledCsv } from "./clusterServiceVersion.ts";
import { decideEligibility, type EligibilityVerdict } from "./eligibility.ts";
import { buildConfiguration } from "./extensionManifest.ts";
import { parseOperatorGroup } from "./operatorGroup.ts";
import { parseSubscription } from "./subscription.ts";

const NAMESPACE = "operators";
/** The namespaces that an OperatorGroup targets for the first supported install mode. */
const TARGETS = { AllNamespaces: [""], OwnNamespace: [NAMESPACE], SingleNamespace: ["a"], MultiNamespace: ["a", "b"] } as const;

/** Returns the verdict on an operator that OLM v0 has installed from a bundle, as it would be on a cluster whose catalog contains the bundle. */
function survey(bundle: RegistryV1Bundle): EligibilityVerdict & { readonly problem?: string } {
  const { csv, packageName } = bundle;
  const modes = new Set((csv.spec.installModes ?? []).flatMap(({ type, supported }) => (supported ? [type] : [])));
  const mode = (Object.keys(TARGETS) as (keyof typeof TARGETS)[]).find((one) => modes.has(one)) ?? "AllNamespaces";
  const targets = TARGETS[mode];
  const name = csv.metadata.name ?? "";
  const object = (kind: string, body: JsonObject, metadata: JsonObject = {}): KubeObject => ({
    apiVersion: `operators.coreos.com/${kind === "OperatorGroup" ? "v1" : "v1alpha1"}`,
    kind,
    ...body,
    metadata: { name: packageName, namespace: NAMESPACE, ...metadata },
  });
  const group = parseOperatorGroup(object("OperatorGroup", { status: { namespaces: [...targets] } }));
  const installed = { state: "AtLatestKnown", installedCSV: name, currentCSV: name };
  const subscription = parseSubscription(object("Subscription", { spec: { name: packageName, channel: "stable" }, status: installed }));
  const annotations = { ...csv.metadata.annotations, "olm.targetNamespaces": targets.join(",") };
  const live = object("ClusterServiceVersion", { spec: csv.spec, status: { phase: "Succeeded" } }, { name, annotations });
  const offer = { catalog: "c", priority: 0, version: csv.spec.version, image: "i", channels: ["stable"] };
  const parsed = parseInstalledCsv(live);
  const verdict = decideEligibility(subscription, {
    csv: parsed,
    groups: [group],
    subscriptions: [subscription],
    csvs: [parsed],
    extensions: [],
    offers: { catalogs: ["c"], bundles: [offer], unread: [] },
    extensionName: packageName,
  });
  const problem = findRenderProblem(bundle, buildConfiguration(subscription, group));
  return problem === undefined ? verdict : { ...verdict, state: "Ineligible", problem };
}

function findRenderProblem(bundle: RegistryV1Bundle, config: JsonObject): string | undefined {
  try {
    renderBundle(bundle, {
      installNamespace: NAMESPACE,
      config: Object.keys(config).length === 0 ? undefined : config,
      certProvider: selfSigned,
    });
    return undefined;
  } catch (err) {
    return getErrorMessage(err);
  }
}

describeWithData("the operators of real catalogs", (folder) => {
  test("decideEligibility and renderBundle accept at least 95 percent of the operators", () => {
    const reasons = new Map<string, string[]>();
    const operators = readdirSync(join(folder, "bundles"));
    for (const operator of operators) {
      const version =
        readdirSync(join(folder, "bundles", operator))
          .sort(compareText)
          .at(-1) ?? "";
      const { state, reasons: found, problem } = survey(loadBundle(bundleFiles(join(folder, "bundles", operator, version))));
      if (state === "Eligible") continue;
      for (const reason of problem === undefined ? found.map(({ code }) => code) : [problem.split("\n")[0] ?? ""])
        reasons.set(reason, [...(reasons.get(reason) ?? []), operator]);
    }
    const refused = new Set([...reasons.values()].flat());
    process.stdout.write(
      `${operators.length - refused.size} of ${operators.length} operators can be migrated; not: ${JSON.stringify([...reasons])}\n`,
    );
    expect(refused.size / operators.length).toBeLessThanOrEqual(0.05);
  });
});
