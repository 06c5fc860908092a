import { writeFile } from "node:fs/promises";
import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import type { ConversionStep } from "../../../pkg/api/migration.ts";
import { backupFile } from "./backup.ts";
import type { Conversion } from "./conversion.ts";
import { convert } from "./convert.ts";
import type { Session } from "./session.ts";

/** Keeps the objects of OLM classic in a file where one is asked for. @param flag wx for a new file, a to append. */
export async function writeBackup(path: string | undefined, { source }: Conversion, flag: "wx" | "a"): Promise<void> {
  const { subscription, csv, group } = source;
  if (path !== undefined) await writeFile(path, backupFile([group, csv, subscription]), { flag, mode: 0o600 });
}

/** Carries a conversion out. @param done called with each step once it is done. @throws DidNotCome where something did not come in time. */
export function carriedOut(
  { terminal, options, client, progress }: Session,
  conversion: Conversion,
  done: (step: ConversionStep) => void,
): Promise<ClusterExtension> {
  const { unpin = false, timeout } = options;
  return convert(conversion, {
    client,
    unpin,
    timeoutMs: timeout,
    signal: terminal.signal,
    tell: (what) => progress.now(what),
    done,
  });
}
