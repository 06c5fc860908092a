import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findBinaries } from "../../pkg/devcluster/binaries.ts";
import { Component } from "../../pkg/devcluster/component.ts";
import { renderRegistryConfig } from "../../pkg/devcluster/flags.ts";
import { findFreePorts } from "../../pkg/devcluster/processes.ts";

/** Password of user "user". */
export const PASSWORD = "s3cr3t-of-the-test";
/** bcrypt of the password */
const HTPASSWD = "user:$2a$04$VE.04pjpQXAGHKw4Yo5KiOsaleqlCdYJ1sZCHh4iW3KcqahwnTFxi\n";

/** The real registry, with required user name and password. */
export class ClosedRegistry implements AsyncDisposable {
  readonly host: string;
  /** Credentials file with the password. */
  readonly authFile: string;
  readonly #dir: string;
  readonly #component: Component;

  private constructor(host: string, dir: string, component: Component) {
    this.host = host;
    this.#dir = dir;
    this.authFile = join(dir, "auth.json");
    this.#component = component;
  }

  /** @param tls certificate and key in PEM; plain HTTP by default. */
  static async start(tls?: { cert: string; key: string }): Promise<ClosedRegistry> {
    const dir = await mkdtemp(join(tmpdir(), "olmv1-closed-"));
    const binaries = await findBinaries(() => undefined);
    const [port = 0] = await findFreePorts(1);
    const files = { htpasswd: HTPASSWD, ...(tls ? { "tls.crt": tls.cert, "tls.key": tls.key } : {}) };
    for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text);
    const path = (name: string): string => JSON.stringify(join(dir, name));
    const secured = tls ? `  tls: {certificate: ${path("tls.crt")}, key: ${path("tls.key")}}\n` : "";
    await mkdir(join(dir, "registry"), { recursive: true });
    const config = `${renderRegistryConfig({ dataDir: dir, ports: { registry: port } })}${secured}auth:\n  htpasswd: {realm: test, path: ${path("htpasswd")}}\n`;
    await writeFile(join(dir, "config.yaml"), config);
    const host = `127.0.0.1:${port}`;
    await writeFile(join(dir, "auth.json"), JSON.stringify({ auths: { [host]: { username: "user", password: PASSWORD } } }));
    const component = Component.start({
      name: "registry",
      binary: binaries.registry,
      args: ["serve", join(dir, "config.yaml")],
      logFile: join(dir, "registry.log"),
      // A registry with a certificate responds to plain HTTP with 400.
      ready: async () => (await fetch(`http://${host}/v2/`)).status < 500,
    });
    await component.ready(30_000);
    return new ClosedRegistry(host, dir, component);
  }

  /** The options for `pushImage`. */
  get target(): { host: string; authFile: string; insecure: true } {
    return { host: this.host, authFile: this.authFile, insecure: true };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#component.stop();
    await rm(this.#dir, { recursive: true, force: true });
  }
}
