import { homedir } from "node:os";
import { loginsOf } from "../../../pkg/oci/registry/authFile.ts";
import { ImageStores } from "../../../pkg/oci/store/imageStores.ts";
import { RegistryAccess } from "../../../pkg/oci/registry/registryAccess.ts";
import { createLogger } from "../../../pkg/telemetry/log.ts";
import type { Terminal } from "../cli/terminal.ts";

/** How registries are reached. */
export interface ImageOptions {
  registriesConf?: string | undefined;
  authFile?: string | undefined;
  /** about where images are pushed to */
  insecure?: boolean | undefined;
}

/** What of a terminal such commands need. */
export type ImageTerminal = Pick<Terminal, "out" | "err" | "signal" | "env" | "interactive" | "width">;

/** Lends `work` what opens images in registries and layouts; it is closed afterwards, and nothing temporary is left. */
export async function withImages<T>(options: ImageOptions, terminal: ImageTerminal, work: (stores: ImageStores) => Promise<T>): Promise<T> {
  const { registriesConf, authFile, insecure } = options;
  const { env } = terminal;
  const log = createLogger({ component: "olmv1", level: "warn", destination: { write: (line) => terminal.err(line) } });
  const stores = new ImageStores(new RegistryAccess({ registriesConf, logins: loginsOf(authFile, env, homedir()), insecure, env, log }));
  try {
    return await work(stores);
  } finally {
    await stores.close();
  }
}
