import { LRUCache } from "lru-cache";
import type { InstallationReport } from "../../consoleapi/installation.ts";
import { type FindingStatus, readSnapshot } from "../../doctor/clusterSnapshot.ts";
import { collectFindings } from "../../doctor/findings.ts";
import { parseSuggestedStep } from "../../rollout/suggestedStep.ts";
import type { ClusterIdentity } from "../cluster/clusterIdentity.ts";
import type { ConsoleContext } from "../consoleContext.ts";
import type { ConsoleRoutes } from "../http/requestInput.ts";

const TIMEOUT_MS = 30_000;
/** Validity of a result that pages share, in milliseconds: the checks send about forty requests. */
const SHARED_MS = 10_000;
const ORDER: readonly FindingStatus[] = ["problem", "warning", "unknown", "ok"];

/** Registers the checks of the installation. */
export function registerInstallationRoutes(server: ConsoleRoutes, { session }: ConsoleContext): void {
  const shared = new LRUCache<ClusterIdentity, Promise<InstallationReport>>({ max: 100, ttl: SHARED_MS });
  server.route({
    method: "GET",
    url: "/api/installation",
    handler: async ({ identity }): Promise<InstallationReport> => {
      const held = shared.get(identity);
      if (held) return held;
      const checking = checkInstallation(identity, session);
      shared.set(identity, checking);
      checking.catch(() => shared.delete(identity));
      return checking;
    },
  });
}

async function checkInstallation(
  { client }: ClusterIdentity,
  { systemNamespace, version }: Pick<ConsoleContext["session"], "systemNamespace" | "version">,
): Promise<InstallationReport> {
  const snapshot = await readSnapshot(client, systemNamespace, AbortSignal.timeout(TIMEOUT_MS));
  const findings = collectFindings(snapshot, version).sort((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status));
  return {
    checked: new Date(snapshot.now).toISOString(),
    findings: findings.map(({ next, ...finding }) => (next === undefined ? finding : { ...finding, next: parseSuggestedStep(next) })),
  };
}
