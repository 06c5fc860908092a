import type { ClusterExtension } from "../../../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../../../pkg/api/constants.ts";
import type { JsonObject } from "../../../../pkg/api/k8s.ts";
import type { PermissionPolicySpec } from "../../../../pkg/api/permissionPolicy.ts";
import { readSuggestedNamespace } from "../../../../pkg/bundle/suggestedNamespace.ts";
import { selfSigned } from "../../../../pkg/certificates/providers.ts";
import type { Client } from "../../../../pkg/kube/client.ts";
import { KindNotServed } from "../../../../pkg/kube/errors.ts";
import { CertificateProviders } from "../../../../pkg/operatorcontroller/apply/certificateProviders.ts";
import { toRenderableBundle } from "../../../../pkg/operatorcontroller/bundles/bundleCache.ts";
import { deriveContentRules, type RuleContext } from "../../../../pkg/permissionmanager/contentRules.ts";
import { countRules } from "../../../../pkg/permissions/grantPlan.ts";
import type { PermissionOutcome } from "../../../../pkg/permissions/judgePermissions.ts";
import { decidePermissions, type PermissionDecision } from "../../../../pkg/permissions/permissionDecision.ts";
import { buildPolicyTarget, getLimits } from "../../../../pkg/permissions/policySelection.ts";
import type { RequiredRules } from "../../../../pkg/rbac/requiredRules.ts";
import { mergeRequiredRules } from "../../../../pkg/rbac/ruleSets.ts";
import { describePolicyGap, type FoundPolicy, readPermissionPolicy } from "../../../../pkg/rollout/extensionPermissions.ts";
import { placeJudgedRules, toJudgedData } from "../../../../pkg/rollout/placedRules.ts";
import { withReader } from "../../../../pkg/sources/bundleReader.ts";
import { isPackageName } from "../../../../pkg/sources/bundleSources.ts";
import { formatCount } from "../../../../pkg/text/lists.ts";
import { withCluster } from "../../cli/cluster.ts";
import { EXIT } from "../../cli/errors.ts";
import { readConfigFile, readPolicyFile } from "../../cli/inputFiles.ts";
import type { ReleaseOptions } from "../../cli/options.ts";
import { type Output, print } from "../../cli/output.ts";
import { withProgress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { formatPlacedRules } from "../grantedPermissions.ts";
import { formatRisks, MANAGE_NOTE, toLines, withTitle, wrapLine } from "../permissionsText.ts";
import { type SelectedBundle, type SelectionOptions, selectBundle } from "./selectBundle.ts";

/** Options of `olmv1 permissions policy test`. */
export interface PolicyTestOptions extends ReleaseOptions, SelectionOptions {
  bundle: string;
  filename?: string;
  namespace?: string;
  config?: string;
  output: Output;
}

/** A bundle, and what a policy decides about it. */
interface PolicyTest {
  readonly policy: FoundPolicy;
  readonly bundle: string;
  readonly namespace: string;
  readonly required: RequiredRules;
  readonly decision: PermissionDecision;
  readonly notes: readonly string[];
}

const TITLES: readonly (readonly [PermissionOutcome, string])[] = [
  ["Denied", "Denied"],
  ["Pending", "Wait for approval"],
  ["Granted", "Granted"],
];

/** Runs `olmv1 permissions policy test`. */
export async function testPolicy(terminal: Terminal, name: string | undefined, options: PolicyTestOptions): Promise<void> {
  const { filename, systemNamespace } = options;
  const config = options.config === undefined ? undefined : await readConfigFile(options.config, terminal);
  const test = async (policy: FoundPolicy, place: RuleContext): Promise<void> => {
    const selected = await findBundle(terminal, options);
    if (!selected) return terminal.exit(EXIT.no);
    const tested = await judgeBundle(terminal, policy, place, selected, { ...options, inline: config });
    await print(terminal, options.output, { data: toTestData(tested), text: () => formatPolicyTest(terminal, tested) });
    return tested.decision.state === "Granted" ? undefined : terminal.exit(EXIT.no);
  };
  if (filename !== undefined) {
    const { metadata, spec } = await readPolicyFile(filename, name, terminal);
    return test({ name: metadata.name, spec, exists: true }, { client: OFFLINE, provider: selfSigned, systemNamespace });
  }
  if (name === undefined) throw new Error("specify the name of a PermissionPolicy on the cluster, or a file with --filename");
  return withCluster(options, async (client) => {
    const provider = await new CertificateProviders(client, "auto").choose([]);
    return test(await readPermissionPolicy(client, name), { client, provider, systemNamespace });
  });
}

/** Knows no kind, so that only well-known kinds and those of the bundle have a resource. */
const OFFLINE: Pick<Client, "resourceFor"> = {
  resourceFor: ({ apiVersion, kind }) => Promise.reject(new KindNotServed(apiVersion, kind)),
};

/** Returns the bundle of --bundle. A package is resolved as for a new installation. */
async function findBundle(terminal: Terminal, options: PolicyTestOptions): Promise<SelectedBundle | undefined> {
  const { bundle } = options;
  if (await isPackageName(bundle)) return selectBundle(terminal, { package: bundle }, options);
  if (options.version !== undefined || options.channel.length > 0 || options.catalogDir.length > 0)
    throw new Error("--version, --channel and --catalog-dir require a package in --bundle");
  return { name: bundle, image: bundle, catalog: undefined, isGiven: true };
}

async function judgeBundle(
  terminal: Terminal,
  policy: FoundPolicy,
  place: RuleContext,
  { image, catalog, isGiven = false }: SelectedBundle,
  options: PolicyTestOptions & { inline: JsonObject | undefined },
): Promise<PolicyTest> {
  const content = await withProgress(terminal, `pulling ${image}`, () =>
    withReader(
      options,
      async (reader) => (isGiven ? toRenderableBundle(await reader.bundle(image)) : reader.bundleImage(image)),
      terminal.signal,
    ),
  );
  const { packageName } = content;
  const namespace = options.namespace ?? readSuggestedNamespace(packageName, content.annotations).name;
  const extension: ClusterExtension = {
    apiVersion: API_VERSION,
    kind: CLUSTER_EXTENSION,
    metadata: { name: packageName },
    spec: {
      namespace,
      source: { sourceType: "Catalog", catalog: { packageName } },
      ...(options.inline ? { config: { configType: "Inline", inline: options.inline } } : {}),
    },
  };
  const { rules: required, subject } = await deriveContentRules(place, extension, content);
  const target = buildPolicyTarget(packageName, namespace, catalog);
  return {
    policy,
    bundle: content.name || image,
    namespace,
    required,
    decision: decidePermissions({ policy: policy.spec, required, subject, target, current: mergeRequiredRules([]) }),
    notes: [...describePolicyGap(policy), ...listGaps(policy.spec, catalog !== undefined), ...listUnknownKinds(required)],
  };
}

function listGaps({ covers }: PermissionPolicySpec, hasCatalog: boolean): string[] {
  return covers?.catalogs === undefined || hasCatalog
    ? []
    : ["covers.catalogs is not checked, because the bundle is not from a ClusterCatalog"];
}

function listUnknownKinds({ unknownKinds }: RequiredRules): string[] {
  return unknownKinds.map(({ apiVersion, kind }) => `unknown kind ${kind} (${apiVersion}): the rules do not include it`);
}

/** Formats the decision about each rule of a bundle. */
function formatPolicyTest(screen: Pick<Terminal, "width">, { policy, bundle, namespace, required, decision, notes }: PolicyTest): string {
  const { judged, problem } = decision;
  const limits = getLimits(policy.spec);
  const who = `PermissionPolicy ${policy.name}`;
  const parts = [
    [
      ...wrapLine(screen, `${who}: bundle ${bundle} in namespace ${namespace} (${MANAGE_NOTE})`),
      ...wrapLine(screen, problem === undefined ? "Covers: yes" : `Denied: ${problem}`),
      `Limits: ${countRules(required)} of ${limits.rules} rules, ${required.namespaceRules.size} of ${formatCount(limits.namespaces, "namespace")}`,
      ...notes.flatMap((note) => wrapLine(screen, `Note: ${note}`)),
    ],
    ...TITLES.map(([outcome, title]) => {
      const rules = judged.filter((one) => one.outcome === outcome);
      if (rules.length === 0) return [];
      const head = `${title}: ${formatCount(rules.length, "rule")} (field of the policy, risk class)`;
      return [head, ...toLines(formatPlacedRules(screen, placeJudgedRules(rules, true)))];
    }),
    withTitle("Risks:", formatRisks(screen, judged)),
    wrapLine(screen, describeResult(decision)),
  ];
  return parts
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join("\n")}\n`)
    .join("\n");
}

function describeResult({ state, problem, pending, denied }: PermissionDecision): string {
  if (problem !== undefined) return "Result: denied";
  if (state === "Denied") return `Result: denied, because the policy denies ${formatCount(denied.length, "rule")}`;
  return state === "Granted" ? "Result: granted" : `Result: ${formatCount(pending.length, "rule")} must be approved`;
}

function toTestData({ policy, bundle, namespace, decision, notes }: PolicyTest): object {
  const { state, problem, judged, pendingDigest } = decision;
  return {
    policy: policy.name,
    bundle,
    namespace,
    state,
    ...(problem === undefined ? {} : { problem }),
    rules: judged.map(toJudgedData),
    ...(pendingDigest === undefined ? {} : { pendingDigest }),
    notes,
  };
}
