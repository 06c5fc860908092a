import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { withImages } from "../../../../pkg/authoring/build/publishImage.ts";
import type { EmbeddedOlm } from "../../../../pkg/devcluster/embeddedOlm.ts";
import { wrapError } from "../../../../pkg/errors/errors.ts";
import type { Client } from "../../../../pkg/kube/client.ts";
import { parseReference, type Reference } from "../../../../pkg/oci/reference.ts";
import { readExtensionPermissions, writeApproval } from "../../../../pkg/rollout/extensionPermissions.ts";
import type { Awaited } from "../../../../pkg/rollout/rolloutVerdict.ts";
import { withReader } from "../../../../pkg/sources/bundleReader.ts";
import { escapeControlCharacters } from "../../../../pkg/text/escape.ts";
import { runCheckCommand } from "../../../../pkg/trial/checkCommand.ts";
import { requireNoConflicts } from "../../../../pkg/trial/clusterConflicts.ts";
import { runTrial, type TrialRequest } from "../../../../pkg/trial/runTrial.ts";
import { readTrialBundle, requireUpgrade, type TrialBundle } from "../../../../pkg/trial/trialCatalog.ts";
import { TrialImages } from "../../../../pkg/trial/trialImages.ts";
import { formatJunitReport, type TrialReport, type TrialStep } from "../../../../pkg/trial/trialReport.ts";
import { withCluster } from "../../cli/cluster.ts";
import { withEmbeddedOlm } from "../../cli/embeddedControlPlane.ts";
import { EXIT } from "../../cli/errors.ts";
import { readConfigFile } from "../../cli/inputFiles.ts";
import type { RegistryOptions, ReleaseOptions } from "../../cli/options.ts";
import { type Output, print } from "../../cli/output.ts";
import { withProgress } from "../../cli/progress.ts";
import { requireRepository } from "../../cli/temporaryRepository.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { waitUntilServed } from "../catalog/add.ts";
import { followRollout, formatRollout } from "../rollout.ts";

/** Options of `olmv1 bundle try`. */
export interface BundleTryOptions extends ReleaseOptions, RegistryOptions {
  embedded?: boolean;
  registry?: string;
  insecure?: boolean;
  from?: string;
  check: string[];
  checkFrom: string[];
  namespace?: string;
  config?: string;
  approvePermissions?: boolean;
  /** Milliseconds. */
  timeout: number;
  junit?: string;
  output: Output;
}

/** The bundles of a trial. */
interface TrialBundles {
  readonly target: TrialBundle;
  readonly from: TrialBundle | undefined;
}

/** Runs `olmv1 bundle try`. */
export async function tryBundle(terminal: Terminal, source: string, options: BundleTryOptions): Promise<void> {
  if (options.checkFrom.length > 0 && options.from === undefined) throw new Error("--check-from needs --from with the previous version");
  const config = options.config === undefined ? undefined : await readConfigFile(options.config, terminal);
  const bundles = await readBundles(terminal, source, options);
  const name = `try-${randomBytes(4).toString("hex")}`;
  const request = {
    ...bundles,
    name,
    namespace: options.namespace ?? name,
    config,
    checks: options.check,
    fromChecks: options.checkFrom,
    timeoutMs: options.timeout,
    systemNamespace: options.systemNamespace,
  };
  terminal.endsByItself();
  const report = options.embedded
    ? await tryEmbedded(terminal, { ...request, isDisposable: true }, options)
    : await tryOnCluster(terminal, { ...request, isDisposable: false }, options);
  if (options.junit !== undefined) await writeFile(options.junit, formatJunitReport(report));
  await print(terminal, options.output, { data: report, text: () => `${bundles.target.name}: ${report.passed ? "passed" : "failed"}\n` });
  if (terminal.signal.aborted) terminal.exit(EXIT.interrupted);
  else if (!report.passed) terminal.exit(EXIT.no);
}

async function readBundles(terminal: Terminal, source: string, options: BundleTryOptions): Promise<TrialBundles> {
  return withReader(
    options,
    async (reader) => {
      const read = async (one: string): Promise<TrialBundle> => {
        try {
          return readTrialBundle(one, await reader.files(one));
        } catch (err) {
          throw wrapError(`${one}: `, err);
        }
      };
      const target = await withProgress(terminal, `reading bundle ${source}`, () => read(source));
      const from = options.from === undefined ? undefined : await read(options.from);
      if (from) requireUpgrade(target, from);
      return { target, from };
    },
    terminal.signal,
  );
}

/** Tries the bundle on an embedded control plane, which is removed afterwards. Permissions need no approval there. */
async function tryEmbedded(terminal: Terminal, request: TrialRequest, options: BundleTryOptions): Promise<TrialReport> {
  return withEmbeddedOlm(terminal, (olm) => {
    const own = { kubeconfig: olm.kubeconfig, approvePermissions: true, insecure: true };
    const repository = parseReference(`${olm.registry}/trial`);
    const env = { ...terminal.env, KUBECONFIG: olm.kubeconfig, PATH: joinPath(olm, terminal.env["PATH"]) };
    return run(terminal, request, { ...options, ...own }, { repository, env });
  });
}

function joinPath({ bin }: EmbeddedOlm, path: string | undefined): string {
  return path === undefined || path === "" ? bin : `${bin}${delimiter}${path}`;
}

/** Tries the bundle on the cluster of the kubeconfig. */
async function tryOnCluster(terminal: Terminal, request: TrialRequest, options: BundleTryOptions): Promise<TrialReport> {
  const repository = requireRepository(options.registry, "the bundle");
  const folder = await mkdtemp(join(tmpdir(), "olmv1-try-"));
  try {
    const env = { ...terminal.env, ...(await selectCluster(folder, options, terminal.env)) };
    return await run(terminal, request, options, { repository, env });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Returns KUBECONFIG for commands of the user. A file that only selects the context comes first, because kubectl uses the first file with a current
 * context.
 */
async function selectCluster(
  folder: string,
  { kubeconfig, context }: BundleTryOptions,
  env: Terminal["env"],
): Promise<{ KUBECONFIG?: string }> {
  const files = kubeconfig ?? env["KUBECONFIG"];
  if (context === undefined) return files === undefined ? {} : { KUBECONFIG: files };
  const selection = join(folder, "context.yaml");
  await writeFile(selection, JSON.stringify({ apiVersion: "v1", kind: "Config", "current-context": context }));
  return { KUBECONFIG: `${selection}${delimiter}${files ?? join(homedir(), ".kube/config")}` };
}

/** Where a trial pushes, and the environment of its checks. */
interface TrialPlace {
  readonly repository: Reference;
  readonly env: Readonly<Record<string, string | undefined>>;
}

async function run(
  terminal: Terminal,
  request: TrialRequest,
  options: BundleTryOptions,
  { repository, env }: TrialPlace,
): Promise<TrialReport> {
  const { name, namespace, target, from, timeoutMs } = request;
  return withCluster(options, async (client) => {
    await requireNoConflicts(client, from ? [from, target] : [target], terminal.signal);
    terminal.err(`${name}: trying bundle ${escapeControlCharacters(target.name)} in namespace ${namespace}\n`);
    return withImages(options, terminal, (stores) =>
      runTrial(request, {
        client,
        images: new TrialImages(stores, repository, name),
        signal: terminal.signal,
        awaitCatalog: async (created) => (await waitUntilServed(terminal, client, created, timeoutMs)).because,
        awaitRollout: (extension, awaited) => rollOut(terminal, client, extension, awaited, options),
        check: (command, bundle) =>
          runCheckCommand({
            command,
            env: { ...env, ...nameTrial(request, bundle) },
            timeoutMs,
            signal: terminal.signal,
            print: (text) => terminal.err(escapeControlCharacters(text)),
          }),
        report: (step) => terminal.err(formatStep(step)),
      }),
    );
  });
}

/** Returns the variables with the names of a trial, for the commands of the user. */
function nameTrial({ name, namespace }: TrialRequest, bundle: TrialBundle): Record<string, string> {
  return {
    OLMV1_EXTENSION: name,
    OLMV1_NAMESPACE: namespace,
    OLMV1_PACKAGE: bundle.packageName,
    OLMV1_BUNDLE: bundle.name,
    OLMV1_VERSION: bundle.version,
  };
}

/** Waits until the extension is ready, and approves its permissions if the user asked for it. @returns why it is not ready */
async function rollOut(
  terminal: Terminal,
  client: Client,
  name: string,
  awaited: Awaited,
  { timeout, approvePermissions }: BundleTryOptions,
): Promise<string | undefined> {
  let rollout = await followRollout(terminal, client, name, awaited, timeout);
  if (rollout.kind === "permissionApproval" && approvePermissions) {
    const permissions = await readExtensionPermissions(client, name);
    const digest = permissions.status?.pendingDigest;
    if (digest !== undefined) await writeApproval(client, permissions, digest);
    terminal.err("  approved the permissions of the bundle\n");
    rollout = await followRollout(terminal, client, name, { ...awaited, hasApprovedPermissions: true }, timeout);
  }
  if (rollout.kind === "ready") return undefined;
  const advice = rollout.kind === "permissionApproval" ? "\nUse --approve-permissions to approve them" : "";
  return `${formatRollout({ width: Number.POSITIVE_INFINITY }, name, rollout).trimEnd()}${advice}`;
}

const STATE_WIDTH = 7;

function formatStep({ name, state, seconds, message }: TrialStep): string {
  const time = state === "skipped" ? "" : ` (${seconds.toFixed(1)} s)`;
  const details = state === "failed" && message !== undefined ? message.split("\n").map((line) => `  ${line}`) : [];
  const lines = [`${state.padEnd(STATE_WIDTH)} ${name}${time}`, ...details];
  return lines.map((line) => `${escapeControlCharacters(line)}\n`).join("");
}
