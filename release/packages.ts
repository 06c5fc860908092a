/** The parts of package-lock.json that a release describes. @see https://docs.npmjs.com/cli/v11/configuring-npm/package-lock-json */
export interface Lockfile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/** A package of the lockfile. */
export interface LockedPackage {
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
  /** Algorithm and base64 hash, such as "sha512-…". */
  readonly integrity?: string;
  readonly resolved?: string;
  /** Whether package.json lists the package only for development. A release may still contain it: see shippedPackages.ts. */
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  /** Range of each dependency by name. */
  readonly dependencies?: Readonly<Record<string, string>>;
  /** Only the lockfile's root has them. */
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  /** Whether the installation succeeds without the package, for example on another platform. */
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
}

/** The parts of esbuild's metafile that list the files in a build. */
export interface Metafile {
  readonly outputs: Readonly<Record<string, { readonly inputs: Readonly<Record<string, { readonly bytesInOutput: number }>> }>>;
}

/** A package that a build contains. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** SPDX expression; undefined if the package does not declare its license. */
  readonly license: string | undefined;
  /** Package URL. */
  readonly purl: string;
  readonly hash: { readonly algorithm: string; readonly hex: string };
  /** Its folder, relative to the root of the checkout. */
  readonly folder: string;
}

const MODULES = "node_modules/";

/**
 * Returns the packages whose files are part of a build, each version once, sorted by folder.
 * @param metafile from esbuild, with paths relative to the root of the checkout.
 * @param modules paths of the modules of the web console.
 * @throws Error if the lockfile does not contain a bundled package.
 */
export function listBundledPackages(metafile: Metafile, modules: readonly string[], lock: Lockfile): BundledPackage[] {
  const bundled = Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? listFolders(path) : [])),
  );
  const folders = [...new Set([...bundled, ...modules.flatMap(listFolders)])].toSorted();
  const packages = folders.map((folder) => toBundledPackage(folder, lock.packages[folder]));
  return [...new Map(packages.map((one) => [one.purl, one])).values()]; // the same version may be installed in two folders
}

/** Returns the package folder of a file, such as "node_modules/a/node_modules/@b/c", in a list that is empty for files of the project. */
function listFolders(path: string): string[] {
  const at = path.lastIndexOf(MODULES);
  if (at < 0) return [];
  const [first = "", second = ""] = path.slice(at + MODULES.length).split("/");
  return [path.slice(path.indexOf(MODULES), at) + MODULES + (first.startsWith("@") ? `${first}/${second}` : first)];
}

function toBundledPackage(folder: string, locked: LockedPackage | undefined): BundledPackage {
  const { version, integrity, license } = locked ?? {};
  if (version === undefined || integrity === undefined) throw new Error(`package-lock.json does not contain the bundled package ${folder}`);
  const name = getPackageName(folder);
  const [algorithm = "", hash = ""] = integrity.split("-");
  return {
    name,
    version,
    license,
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
    hash: { algorithm, hex: Buffer.from(hash, "base64").toString("hex") },
    folder,
  };
}

/** Returns the name of the package in a folder of node_modules. */
export function getPackageName(folder: string): string {
  return folder.slice(folder.lastIndexOf(MODULES) + MODULES.length);
}
