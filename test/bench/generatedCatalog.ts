/** A generated catalog whose packages are like real ones in size and structure. */
export interface GeneratedCatalog {
  /** One JSON file for each package, as opm writes it, by slash path. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly bytes: number;
}

const BUNDLES = 8;
const ICON_BYTES = 6_000;
const SEED = 20_261;
const WORDS = "operator cluster backup storage policy metrics gateway tenant certificate replica message cache index secret volume".split(
  " ",
);

/** Returns a deterministic catalog of `packages` packages of about 120 KB each. */
export function generateCatalog(packages: number): GeneratedCatalog {
  const random = createRandom(SEED);
  const files = new Map<string, Uint8Array>();
  let bytes = 0;
  for (let i = 0; i < packages; i++) {
    const name = `${WORDS[i % WORDS.length]}-${i}`;
    const file = Buffer.from(
      generateMetas(name, random)
        .map((meta) => `${JSON.stringify(meta, undefined, 4)}\n`)
        .join(""),
    );
    files.set(`${name}/catalog.json`, file);
    bytes += file.length;
  }
  return { files, bytes };
}

/** Returns a package with one channel, in which each bundle replaces the previous one. */
function generateMetas(name: string, random: () => number): object[] {
  const bundle = (i: number): string => `${name}.v1.${i}.0`;
  const entries = Array.from({ length: BUNDLES }, (_, i) => ({ name: bundle(i), ...(i > 0 ? { replaces: bundle(i - 1) } : {}) }));
  const icon = {
    base64data: Buffer.from(Array.from({ length: ICON_BYTES }, () => Math.floor(random() * 256))).toString("base64"),
    mediatype: "image/png",
  };
  return [
    { schema: "olm.package", name, defaultChannel: "stable", description: generateText(40, random), icon },
    { schema: "olm.channel", package: name, name: "stable", entries },
    ...Array.from({ length: BUNDLES }, (_, i) => generateBundle(name, bundle(i), `1.${i}.0`, random)),
  ];
}

function generateBundle(packageName: string, name: string, version: string, random: () => number): object {
  const kinds = ["Cluster", "Backup", "Policy"].map((kind) => ({ group: `${packageName}.example.com`, kind, version: "v1" }));
  const metadata = {
    annotations: {
      capabilities: "Deep Insights",
      categories: "Database",
      containerImage: `quay.io/example/${name}`,
      description: generateText(20, random),
    },
    crdDescriptions: {
      owned: kinds.map(({ group, kind, version: of }) => ({
        name: `${kind.toLowerCase()}s.${group}`,
        kind,
        version: of,
        description: generateText(60, random),
      })),
    },
    description: generateText(900, random),
    displayName: packageName,
    installModes: ["OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"].map((type) => ({
      type,
      supported: type === "AllNamespaces",
    })),
    keywords: WORDS.slice(0, 5),
    provider: { name: "Example" },
  };
  return {
    schema: "olm.bundle",
    package: packageName,
    name,
    image: generateImage(name, random),
    properties: [
      { type: "olm.package", value: { packageName, version } },
      ...kinds.map((value) => ({ type: "olm.gvk", value })),
      { type: "olm.csv.metadata", value: metadata },
    ],
    relatedImages: Array.from({ length: 12 }, (_, i) => ({ name: `part-${i}`, image: generateImage(`${packageName}-part-${i}`, random) })),
  };
}

function generateImage(name: string, random: () => number): string {
  const digest = Array.from({ length: 64 }, () => Math.floor(random() * 16).toString(16)).join("");
  return `quay.io/example/${name}@sha256:${digest}`;
}

function generateText(words: number, random: () => number): string {
  return Array.from({ length: words }, () => WORDS[Math.floor(random() * WORDS.length)]).join(" ");
}

/** Returns a generator of numbers from 0 up to 1, deterministic for each seed (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
