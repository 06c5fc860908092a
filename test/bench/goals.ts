import type { Unit } from "./units.ts";

/** The goal of a figure: a bound in its unit, or a rule in words. */
export type Bound = { readonly atMost: number } | { readonly atLeast: number } | { readonly words: string };

/** One row of the table: the work, its unit and its reference values. */
export interface Goal {
  readonly work: string;
  readonly unit: Unit;
  readonly goal?: Bound;
  /** A figure in `unit`, or the reason why there is none. */
  readonly go?: number | string;
}

/** Source of the Go figures. */
export const GO_ORIGIN = "measured for the Go implementation on a 2-core machine, August 2026";

const KB = 1_000;
const MB = 1_000_000;
const MS = 0.001;

/** All figures by id, in the order of the table. */
export const GOALS = {
  "unpack.time": {
    work: "57 MB YAML catalog, 369 bundles: ClusterCatalog applied → Serving",
    unit: "seconds",
    goal: { words: "≤ 0.6 × Go" },
    go: 2.9,
  },
  "unpack.peak": { work: "  peak memory of catalogd", unit: "bytes", goal: { atMost: 140 * MB }, go: 86 * MB },
  "unpack-large.time": {
    work: "539 MB JSON catalog in a gzip layer, 13,222 bundles: ClusterCatalog applied → Serving",
    unit: "seconds",
    goal: { words: "≤ 0.75 × Go" },
    go: 12.2,
  },
  "unpack-large.peak": { work: "  peak memory of catalogd", unit: "bytes", goal: { atMost: 200 * MB }, go: 91 * MB },
  "unpack-large.compressed": { work: "  → compressed as gzip and zstd, in the background", unit: "seconds" },
  "unpack-large.compressed-peak": { work: "  peak memory of catalogd until then", unit: "bytes", goal: { atMost: 200 * MB }, go: 91 * MB },
  "growth.1": { work: "catalog of 1 package: ClusterCatalog applied → Serving", unit: "seconds" },
  "growth.1-peak": { work: "  peak memory of catalogd", unit: "bytes" },
  "growth.200": { work: "catalog of 200 packages of 120 KB, per package", unit: "seconds" },
  "growth.200-peak": { work: "  peak memory of catalogd", unit: "bytes" },
  "growth.2000": {
    work: "catalog of 2,000 packages of 120 KB, per package",
    unit: "seconds",
    goal: { words: "at most as for 200 packages" },
  },
  "growth.2000-peak": { work: "  peak memory of catalogd", unit: "bytes", goal: { atMost: 300 * MB } },
  "http.all": { work: "GET /all, 57 MB, identity, 4 connections", unit: "perSecond", goal: { atLeast: 10 }, go: 21.7 },
  "http.all-gzip": { work: "GET /all, gzip, 4 connections", unit: "perSecond", goal: { atLeast: 100 }, go: 3.5 },
  "http.package": { work: "GET /metas?package=, largest package, 8 connections", unit: "perSecond" },
  "http.package-large": {
    work: "GET /metas?package= on the 539 MB catalog, 1.5 MB response, 8 connections",
    unit: "perSecond",
    goal: { atLeast: 500 },
    go: 102,
  },
  "http.schema": { work: "GET /metas?schema=olm.package, identity, 8 connections", unit: "perSecond", goal: { atLeast: 520 }, go: 520 },
  "http.schema-gzip": {
    work: "GET /metas?schema=olm.package, gzip, 8 connections",
    unit: "perSecond",
    goal: { words: "≥ 1.2 × identity" },
  },
  "http.not-modified": {
    work: "conditional GET of unchanged content, 304, 8 connections",
    unit: "perSecond",
    goal: { atLeast: 5_000 },
    go: "no ETag",
  },
  resolve: { work: "one resolution, catalogs in memory", unit: "seconds", goal: { atMost: 5 * MS } },
  "resolve.slowest": { work: "  slowest resolution", unit: "seconds", goal: { atMost: 5 * MS } },
  "resolve.many": { work: "one of 5 catalogs of 40 packages changes → 1,000 extensions resolved again", unit: "seconds" },
  "resolve.many-reads": {
    work: "  packages read from catalogs",
    unit: "count",
    goal: { words: "one per package of that catalog" },
  },
  "solver.25": { work: "dependencies solved, 25 random packages of 50 bundles", unit: "seconds" },
  "solver.50": { work: "  50 packages", unit: "seconds" },
  "solver.100": { work: "  100 packages", unit: "seconds" },
  "solver.200": { work: "  200 packages", unit: "seconds", goal: { atMost: 1 } },
  "solver.400": { work: "  400 packages", unit: "seconds" },
  "solver.unsolvable": { work: "  200 packages without a solution, explained", unit: "seconds" },
  "solver.pigeons": { work: "  13 packages that each need one of 12 exclusive APIs, refused", unit: "seconds" },
  "solver.providers-12": { work: "  12 APIs of 30 providers in 11 exclusive groups, refused", unit: "seconds" },
  "solver.providers-16": { work: "  16 APIs of 30 providers with random requirements", unit: "seconds" },
  "solver.chain": { work: "  chain of 200 packages of 20 versions", unit: "seconds" },
  "solver.three-sat": { work: "  426 random constraints of 3 alternatives on 100 packages of 2 versions", unit: "seconds" },
  "solver.offered": { work: "  2 of 800 packages needed, 12,800 bundles in the catalog", unit: "seconds" },
  "dependencies.real": {
    work: "bundle chosen whose dependencies are not installed, real catalogs",
    unit: "seconds",
    goal: { atMost: 20 * MS },
  },
  "dependencies.real-thread": { work: "  of these choices, with a search in the worker thread", unit: "count", goal: { atMost: 50 } },
  "dependencies.chain": { work: "  chain of 200 packages of 20 versions, in a catalog", unit: "seconds" },
  "dependencies.providers-16": { work: "  16 APIs of 30 providers with random requirements, in a catalog", unit: "seconds" },
  "dependencies.three-sat": { work: "  426 random constraints of 3 alternatives, in a catalog", unit: "seconds" },
  render: { work: "one bundle rendered from its folder", unit: "seconds", goal: { atMost: 15 * MS }, go: 48 * MS },
  "crd-upgrade": { work: "one CRD upgrade check", unit: "seconds", goal: { atMost: 10 * MS }, go: 60 * MS },
  "rest.catalogd": { work: "catalogd at rest, one catalog of 57 MB served", unit: "bytes", goal: { atMost: 90 * MB }, go: 59 * MB },
  "rest.operator-controller": {
    work: "operator-controller at rest, nothing installed",
    unit: "bytes",
    goal: { atMost: 100 * MB },
    go: 78 * MB,
  },
  "rest.permission-manager": { work: "permission-manager at rest, nothing installed", unit: "bytes", goal: { atMost: 90 * MB } },
  install: {
    work: "ClusterExtension applied → Installed, Progressing=Succeeded",
    unit: "seconds",
    goal: { atMost: 0.8 },
    go: 1.15,
  },
  upgrade: { work: "the same extension upgraded", unit: "seconds", goal: { atMost: 0.9 }, go: 1.31 },
  "install.memory": { work: "operator-controller RSS, 2 catalogs, 1 extension", unit: "bytes", goal: { atMost: 150 * MB }, go: 124 * MB },
  "many.time": { work: "100 small extensions applied at once → all Installed", unit: "seconds", goal: { atMost: 15 }, go: 65 },
  "many.cpu": { work: "  CPU time of operator-controller", unit: "seconds", goal: { atMost: 9 }, go: 32 },
  "many.memory": { work: "  operator-controller RSS", unit: "bytes", goal: { atMost: 120 * MB }, go: 151 * MB },
  "many.quiet": {
    work: "one catalog changes, 100 extensions installed → idle again",
    unit: "seconds",
    goal: { atMost: 3 },
    go: 25,
  },
  "many.quiet-cpu": { work: "  CPU time of operator-controller", unit: "seconds", go: 25 },
  "managed.install": { work: "ClusterExtension without ServiceAccount applied → Installed, Progressing=Succeeded", unit: "seconds" },
  "managed.added": { work: "  longer than with a prepared ServiceAccount that has the same rules", unit: "seconds", goal: { atMost: 0.3 } },
  "managed.many": { work: "100 small extensions without ServiceAccount (--extensions) applied at once → all Installed", unit: "seconds" },
  "managed.many-ratio": {
    work: "  ratio to the time with prepared ServiceAccounts that have the same rules",
    unit: "count",
    goal: { atMost: 1.2 },
  },
  "managed.many-escalate-ratio": { work: "  ratio to the time with ServiceAccounts that may escalate named roles", unit: "count" },
  "thousand.time": { work: "1,000 small extensions (--extensions) applied at once → all Installed", unit: "seconds" },
  "thousand.cpu": { work: "  CPU time of operator-controller per extension", unit: "seconds" },
  "thousand.few-cpu": { work: "  CPU time per extension with 100 extensions", unit: "seconds" },
  "thousand.ratio": { work: "  ratio of both", unit: "count", goal: { atMost: 1.2 } },
  "thousand.rest": { work: "  CPU time in 60 s at rest, share of one core", unit: "cores", goal: { atMost: 0.01 } },
  "thousand.memory": { work: "  operator-controller RSS after the rest", unit: "bytes", goal: { atMost: 350 * MB } },
  "thousand.quiet": { work: "  their catalog changes, but none of their packages → quiet again", unit: "seconds" },
  "thousand.quiet-cpu": { work: "    CPU time of operator-controller", unit: "seconds" },
  "many-catalogs.memory": {
    work: "operator-controller RSS, 100 extensions (--extensions), 4 catalogs, one of 539 MB",
    unit: "bytes",
    goal: { atMost: 180 * MB },
    go: 148 * MB,
  },
  "watches.memory": {
    work: "operator-controller RSS, 100 extensions of 7 objects (--extensions), all watched, at rest",
    unit: "bytes",
    goal: { atMost: 180 * MB },
  },
  "watches.streams": { work: "  streams that watch objects", unit: "count" },
  "watches.cpu": { work: "  CPU time of operator-controller in a minute at rest", unit: "seconds" },
  "watches.requests": { work: "  requests to the API server in that minute", unit: "count" },
  "watches.repair": { work: "an object deleted → restored", unit: "seconds", goal: { atMost: 1 } },
  "steady.memory": {
    work: "operator-controller RSS, 300 extensions of 7 objects (--extensions), all watched, after the rest",
    unit: "bytes",
    goal: { atMost: 250 * MB },
  },
  "steady.cpu": { work: "  CPU time of operator-controller at rest, share of one core", unit: "cores", goal: { atMost: 0.01 } },
  "steady.lists": { work: "  list requests in the audit log at rest", unit: "count", goal: { atMost: 0 } },
  "steady.requests": { work: "  requests in the audit log at rest, including lists, without watches", unit: "count" },
  "steady.quiet": {
    work: "their catalog changes, but none of their packages → quiet again",
    unit: "seconds",
    goal: { atMost: 5 },
  },
  "steady.resolutions": { work: "  resolutions until then", unit: "count", goal: { atMost: 0 } },
  "command-line.start": { work: "olmv1 --help, as a process", unit: "seconds", goal: { atMost: 0.15 } },
  "command-line.complete": { work: "  a shell completion without a cluster", unit: "seconds", goal: { atMost: 0.15 } },
  "command-line.resolve": { work: "  a resolution in a small catalog on disk", unit: "seconds" },
  "console.rest-memory": {
    work: "olmv1 ui at rest, 500 extensions (--extensions), no page open",
    unit: "bytes",
    goal: { atMost: 150 * MB },
  },
  "console.rest-cpu": { work: "  CPU time at rest, share of one core", unit: "cores", goal: { atMost: 0.01 } },
  "console.memory": { work: "  RSS with 20 open pages", unit: "bytes", goal: { atMost: 180 * MB } },
  "console.cpu": { work: "  CPU time at rest with 20 open pages, share of one core", unit: "cores", goal: { atMost: 0.01 } },
  "console.change-cpu": { work: "  CPU time for a change that 20 pages show", unit: "seconds" },
  "console.message": { work: "a change in the cluster → the last of 20 clients has the message", unit: "seconds", goal: { atMost: 0.3 } },
  "console.page": { work: "a change in the cluster → the page in a browser shows it", unit: "seconds", goal: { atMost: 0.3 } },
  "console.first-view": { work: "first view of the list of extensions in a browser without cache", unit: "seconds", goal: { atMost: 1 } },
  "console.first-bytes": { work: "  compressed files until then, without fonts", unit: "bytes", goal: { atMost: 300 * KB } },
  "console.start-bytes": { work: "  compressed files of the start page, without fonts", unit: "bytes", goal: { atMost: 300 * KB } },
  "console.all-bytes": { work: "all compressed files of the console, without fonts", unit: "bytes", goal: { atMost: 650 * KB } },
  "steady.fetches": { work: "  packages that catalogd sent until then", unit: "count", goal: { atMost: 0 } },
} as const satisfies Record<string, Goal>;

/** Id of a row of the table. */
export type FigureId = keyof typeof GOALS;
