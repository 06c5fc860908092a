import { mkdtemp, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import { CATALOG_IMAGE_LIMITS, type Limits } from "../../pkg/oci/limits.ts";
import { removeTree } from "../../pkg/oci/pull/cache.ts";
import { Puller, type PullerOptions } from "../../pkg/oci/pull/puller.ts";
import { LoopbackRegistry, type RegistryTls } from "./loopbackRegistry.ts";

/** Short timeouts. */
export const QUICK: Limits = { ...CATALOG_IMAGE_LIMITS, backoffMs: 1, retryAfterMs: 1500, stallMs: 5000, timeoutMs: 20_000 };

/** Creates a loopback registry for one test. */
export async function loopbackRegistry(tls?: RegistryTls): Promise<LoopbackRegistry> {
  const registry = await LoopbackRegistry.start(tls);
  onTestFinished(() => registry.stop());
  return registry;
}

/** Creates a folder for one test. */
export async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "olmv1-pull-"));
  onTestFinished(() => removeTree(dir));
  return dir;
}

/** Returns registries.conf text that redirects `prefix` to one registry over plain HTTP. */
export function insecureRegistry(host: string, prefix = host): string {
  return `[[registry]]\nprefix = "${prefix}"\nlocation = "${host}"\ninsecure = true\n`;
}

/** Creates a puller for one test, without the signature policy of this machine. `conf` and `auths` are the contents of its files; collects its logs. */
export async function puller(
  o: { conf?: string; auths?: Record<string, object>; limits?: Partial<Limits> } & Partial<Omit<PullerOptions, "limits">> = {},
): Promise<{ puller: Puller; cacheDir: string; logged: string[]; entries: (owner?: string) => Promise<string[]> }> {
  const dir = await folder();
  const { conf = "", auths, limits, ...rest } = o;
  const cacheDir = rest.cacheDir ?? join(dir, "cache");
  await writeFile(join(dir, "registries.conf"), conf);
  await writeFile(join(dir, "auth.json"), JSON.stringify({ auths }));
  const logged: string[] = [];
  const log = pino({ level: "trace" }, { write: (line: string) => void logged.push(line) });
  const authFile = join(dir, "auth.json");
  const registriesConf = join(dir, "registries.conf");
  const signaturePolicy = { file: join(dir, "policy.json") };
  const defaults = { log, authFile, registriesConf, signaturePolicy, env: {}, arch: "x64" as const };
  const created = new Puller({ ...defaults, ...rest, cacheDir, limits: { ...QUICK, ...limits } });
  onTestFinished(() => created.close());
  const entries = (owner = ""): Promise<string[]> => readdir(join(cacheDir, owner)).catch(() => []);
  return { puller: created, cacheDir, logged, entries };
}
