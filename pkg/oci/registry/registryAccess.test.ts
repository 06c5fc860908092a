import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { folder, loopbackRegistry, QUICK } from "../../../test/support/pulling.ts";
import { parsePullReference } from "../reference.ts";
import { NO_LOGINS } from "./authFile.ts";
import { RegistryAccess } from "./registryAccess.ts";

test.for(["/v2/", "/manifests/"])("RegistryAccess finds an image at the second mirror when the first hangs at %s", async (at) => {
  const [one, two] = [await loopbackRegistry(), await loopbackRegistry()];
  const mirrors = [one, two].map(({ host }) => `[[registry.mirror]]\nlocation = "${host}/mirror"\ninsecure = true\n`);
  const registriesConf = join(await folder(), "registries.conf");
  await writeFile(registriesConf, `[[registry]]\nprefix = "quay.io"\nlocation = "quay.io"\n${mirrors.join("")}`);
  const access = new RegistryAccess({
    registriesConf,
    logins: NO_LOGINS,
    env: {},
    log: pino({ level: "silent" }),
    limits: { ...QUICK, placeMs: 100 },
  });
  onTestFinished(() => access.close());
  two.addImage("mirror/ns/app", "v1", { layers: [] });
  one.misbehave = ({ url }) => (at === "/v2/" ? url === at : (url?.includes(at) ?? false));
  await access.look(parsePullReference("quay.io/ns/app:v1"), AbortSignal.timeout(60_000));
  expect(two.paths(/manifests/)).toEqual(["/v2/mirror/ns/app/manifests/v1"]);
});
