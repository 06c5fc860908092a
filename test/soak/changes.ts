import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import { pick, type Random, shuffle, upTo } from "../support/random.ts";
import { CATALOGS, getExtension, type SoakPackage } from "./soakPackages.ts";
import type { SoakWorld } from "./soakWorld.ts";

/** Changes so far. */
export interface ChangeCounts {
  upgraded: number;
  reinstalled: number;
  damaged: number;
}

const UPGRADES_AT_ONCE = 4;

/** The packages of one round of changes. */
export interface Round {
  readonly catalog: number;
  readonly upgraded: readonly SoakPackage[];
  readonly reinstalled: SoakPackage;
  readonly damaged: SoakPackage;
}

/** Chooses packages: some of one catalog get a new version, one is installed again, and one loses an object. */
export function planRound(packages: readonly SoakPackage[], random: Random): Round {
  const catalog = upTo(random, CATALOGS);
  const members = shuffle(
    random,
    packages.filter((one) => one.catalog === catalog),
  );
  // An uninstall deletes the CRD with the data of users, unless they keep it.
  const reinstalled = pick(
    random,
    packages.filter(({ tiny }) => !tiny.hasCrd),
  );
  return { catalog, upgraded: members.slice(0, UPGRADES_AT_ONCE), reinstalled, damaged: pick(random, packages) };
}

/** Returns the names of the packages whose objects a round deletes. */
export function listDeleting({ reinstalled, damaged }: Round): string[] {
  return [reinstalled.name, damaged.name];
}

/** Changes the cluster as planned. */
export async function change(
  world: SoakWorld,
  { catalog, upgraded, reinstalled, damaged }: Round,
  random: Random,
  counts: ChangeCounts,
): Promise<void> {
  await world.release(upgraded);
  await world.publish(catalog);
  counts.upgraded += upgraded.length;
  await world.remove({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: reinstalled.name });
  await world.apply(getExtension(reinstalled));
  counts.reinstalled++;
  const kind = pick(random, [
    { apiVersion: "v1", kind: "ConfigMap" },
    { apiVersion: "apps/v1", kind: "Deployment" },
  ]);
  await world.retry(() => world.client.delete({ ...kind, namespace: damaged.name, name: damaged.name }));
  counts.damaged++;
}
