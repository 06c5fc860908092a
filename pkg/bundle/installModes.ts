import type { Csv, InstallModeType } from "./types.ts";

/** The install modes that the CSV says are supported, whether known or not; a mode listed twice with both answers counts. */
export function installModes(csv: Csv): ReadonlySet<InstallModeType | (string & {})> {
  const modes = new Set<string>();
  for (const { type, supported } of csv.spec.installModes ?? []) if (supported) modes.add(type);
  return modes;
}
