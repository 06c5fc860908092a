import type { BundleConstraint, LeafConstraint } from "../../pkg/resolve/constraint/constraint.ts";
import { describeConstraint, meets } from "../../pkg/resolve/constraint/evaluate.ts";
import type { RejectedSolverBundle, SolverBundle, SolverProblem, Unit } from "../../pkg/resolve/solver/problem.ts";
import { compareVersionRelease, formatVersionRelease } from "../../pkg/version/version.ts";

// Reads the sentences of an explanation as a user would, and proves them against the problem, without the facts that they were written from.

type AnyBundle = SolverBundle | RejectedSolverBundle;

/** What a sentence states about a solution. */
type Claim =
  /** The solution contains one of the bundles. */
  | { readonly kind: "present"; readonly bundles: readonly AnyBundle[] }
  /** If the solution contains a bundle, its constraint is true. */
  | { readonly kind: "requires"; readonly constraints: ReadonlyMap<AnyBundle, BundleConstraint> }
  /** No bundle outside the problem meets the leaf; for a package, it has no other bundle. */
  | { readonly kind: "complete"; readonly leaf: string }
  /** The solution contains at most this number of the bundles. */
  | { readonly kind: "atMost"; readonly count: 0 | 1; readonly bundles: ReadonlySet<AnyBundle> };

const QUOTED = String.raw`"(?:[^"\\]|\\.)*"`;
const NAME = String.raw`(?:[-.0-9A-Za-z]+|${QUOTED})`;
const VERSION = String.raw`(?:\d[^ ,)]*|${QUOTED})`;
const ITEM = new RegExp(
  String.raw`^(?:(${NAME}) )?(${VERSION})(?: to (${VERSION}))?(?: \((installed|catalog ${QUOTED}|bundle ${QUOTED}(?: of catalog ${QUOTED})?)\))?$`,
);
const MORE = /^\d+ more(?: packages?| catalogs?)?$/;

/** Thrown for a sentence that cannot be read or is not true. */
class FalseSentence extends Error {}

function ensure(condition: boolean, why: string): void {
  if (!condition) throw new FalseSentence(why);
}

function unquote(text: string): string {
  return text.startsWith('"') ? (JSON.parse(text) as string) : text;
}

/** Splits at `, `, ` and ` and ` or ` outside of quotes and parentheses. */
function splitList(text: string): string[] {
  const items: string[] = [""];
  let depth = 0;
  for (const [token] of text.matchAll(new RegExp(String.raw`${QUOTED}|, | and | or |[\s\S]`, "g"))) {
    if (token === "(") depth++;
    if (token === ")") depth--;
    if (depth === 0 && /^(?:, | and | or )$/.test(token)) items.push("");
    else items.push(`${items.pop()}${token}`);
  }
  return items;
}

/** The bundles that a list names. */
interface Listed {
  readonly bundles: ReadonlySet<AnyBundle>;
  /** False if the list states only how many more there are. */
  readonly isComplete: boolean;
}

/** Reads the sentences of explanations of one problem. */
class ClaimReader {
  readonly #problem: SolverProblem;
  readonly #rejected: readonly RejectedSolverBundle[];
  readonly #all: readonly AnyBundle[];

  constructor(problem: SolverProblem) {
    this.#problem = problem;
    this.#rejected = problem.rejected ?? [];
    this.#all = [...problem.units.flatMap(({ candidates }) => candidates), ...this.#rejected];
  }

  /** @returns the claims of a sentence, each proven to be true @throws Error if the sentence cannot be read or is false */
  read(sentence: string): Claim[] {
    try {
      const claims = this.#presence(sentence) ?? this.#offer(sentence) ?? this.#provider(sentence) ?? this.#requirement(sentence);
      ensure(claims !== undefined, "unknown form");
      return claims ?? [];
    } catch (err) {
      throw err instanceof FalseSentence ? new Error(`${err.message}: ${sentence}`) : err;
    }
  }

  /** @throws Error if a bundle of the list does not exist */
  readBundles(list: string): ReadonlySet<AnyBundle> {
    return this.#list(list).bundles;
  }

  #unitOf(packageName: string): Unit | undefined {
    return this.#problem.units.find((unit) => unit.packageName === packageName);
  }

  #versionsOf(packageName: string): AnyBundle[][] {
    const bundles = this.#all.filter((bundle) => bundle.packageName === packageName);
    const sorted = bundles.toSorted((a, b) =>
      a.version && b.version
        ? compareVersionRelease(a.version, b.version)
        : Number(a.version !== undefined) - Number(b.version !== undefined),
    );
    return [...Map.groupBy(sorted, versionText).values()];
  }

  /** @param packageName package of versions at the start of the list */
  #list(text: string, packageName = ""): Listed {
    const bundles = new Set<AnyBundle>();
    let isComplete = true;
    let name = packageName;
    for (const item of splitList(text)) {
      if (MORE.test(item)) {
        isComplete = false;
        continue;
      }
      const match = ITEM.exec(item);
      ensure(match !== null, `"${item}" is not a bundle`);
      const [, named, first = "", last = first, which] = match ?? [];
      name = named === undefined ? name : unquote(named);
      const versions = this.#versionsOf(name);
      const from = versions.findIndex((same) => same.some((bundle) => versionText(bundle) === unquote(first)));
      const to = versions.findIndex((same) => same.some((bundle) => versionText(bundle) === unquote(last)));
      ensure(from >= 0 && to >= from, `there is no ${name} ${first} to ${last}`);
      const found = versions.slice(from, to + 1).flat();
      const kept = which === undefined ? found : found.filter((bundle) => this.#is(bundle, which));
      ensure(kept.length > 0, `there is no ${item}`);
      for (const bundle of kept) bundles.add(bundle);
    }
    return { bundles, isComplete };
  }

  #is(bundle: AnyBundle, which: string): boolean {
    if (which === "installed") {
      const unit = this.#unitOf(bundle.packageName);
      return unit?.kind === "installed" && unit.candidates[0] === bundle;
    }
    const [, name] = new RegExp(String.raw`^bundle (${QUOTED})`).exec(which) ?? [];
    const [, catalog] = new RegExp(String.raw`catalog (${QUOTED})$`).exec(which) ?? [];
    return (name === undefined || bundle.name === unquote(name)) && (catalog === undefined || bundle.catalog === unquote(catalog));
  }

  #isSame({ bundles, isComplete }: Listed, actual: readonly AnyBundle[], what: string): void {
    ensure(actual.length > 0 && [...bundles].every((bundle) => actual.includes(bundle)), `${what} lists a bundle too many`);
    ensure(!isComplete || actual.every((bundle) => bundles.has(bundle)), `${what} does not list all bundles`);
  }

  #presence(text: string): Claim[] | undefined {
    const [sentence, obstacles] = splitObstacles(text);
    const none = new RegExp(String.raw`^(${NAME}) is (wanted|installed)$`).exec(sentence);
    const one = new RegExp(String.raw`^(${NAME}) (${VERSION}) is (wanted|installed)(?: and can only change to (.*))?$`).exec(sentence);
    const several = new RegExp(String.raw`^(${NAME}) is wanted as (.*)$`).exec(sentence);
    const name = unquote(none?.[1] ?? one?.[1] ?? several?.[1] ?? "");
    const unit = this.#unitOf(name);
    if (!none && !one && !several) return undefined;
    ensure(unit !== undefined && unit.kind === (none?.[2] ?? one?.[3] ?? "wanted"), "the package has another role");
    const candidates = unit?.candidates ?? [];
    if (obstacles !== undefined && obstacles !== "none of its bundles can be chosen") this.#checkObstacles(obstacles);
    if (none) ensure(candidates.length === 0, "the package has candidates");
    if (several) this.#isSame(this.#candidatesIn(this.#list(several[2] ?? "", name)), candidates, "wanted");
    if (one) {
      const [first, ...others] = candidates;
      ensure(first !== undefined && versionText(first) === unquote(one[2] ?? ""), "another version is present");
      if (one[4] === undefined)
        ensure(
          others.every((other) => first && versionText(other) === versionText(first)),
          "there are candidates",
        );
      else this.#isSame(this.#candidatesIn(this.#list(one[4], name)), others, "can only change to");
    }
    return [
      { kind: "present", bundles: candidates },
      { kind: "complete", leaf: `package ${name}` },
    ];
  }

  /** Rejected bundles that share a version with a candidate are not meant. */
  #candidatesIn({ bundles, isComplete }: Listed): Listed {
    const kept = [...bundles].filter((bundle) => !("why" in bundle));
    ensure(kept.length > 0, "no candidate is listed");
    return { bundles: new Set(kept), isComplete };
  }

  #offer(text: string): Claim[] | undefined {
    const missing = new RegExp(String.raw`^no selected catalog has package (${QUOTED})$`).exec(text);
    if (missing) {
      const name = unquote(missing[1] ?? "");
      ensure(
        this.#all.every(({ packageName }) => packageName !== name),
        "the package exists",
      );
      return [{ kind: "complete", leaf: `package ${name}` }];
    }
    const [sentence, obstacles, all] = splitObstacles(text);
    if (/^(?:catalog "|there is only )/.test(sentence)) return this.#packageOffer(sentence, obstacles, all);
    const none = /^(?:no bundle of the selected catalogs provides|no available bundle is) (.*)$/s.exec(text);
    const api = /^(API \S+ \S+) is only provided by (.*)$/s.exec(sentence);
    const rule = new RegExp(String.raw`^only (.*) (?:is|are) (a bundle that matches ${QUOTED})$`).exec(sentence);
    const described = none?.[1] ?? api?.[1] ?? rule?.[2];
    if (described === undefined) return undefined;
    const leaf = this.#leafOf(described);
    const meeting = this.#all.filter((bundle) => meets(bundle, leaf));
    if (none) ensure(meeting.length === 0, "a bundle meets it");
    else this.#isSame(this.#list(api?.[2] ?? rule?.[1] ?? ""), meeting, "the offer");
    if (obstacles !== undefined) this.#checkObstacles(obstacles, all ? meeting : undefined);
    return [{ kind: "complete", leaf: described }];
  }

  #packageOffer(sentence: string, obstacles: string | undefined, all: boolean): Claim[] {
    const parts = sentence.split(/(?:^|, | and )(?=catalog "|there is only )/).filter((part) => part !== "");
    const names = new Set<string>();
    const catalogs: (string | undefined)[] = [];
    for (const part of parts) {
      const match = new RegExp(String.raw`^(?:catalog (${QUOTED}) has|there is) only (${NAME}) (.*)$`).exec(part);
      const [, catalog, name = "", versions = ""] = match ?? [];
      const from = catalog === undefined ? undefined : unquote(catalog);
      names.add(unquote(name));
      catalogs.push(from);
      const { bundles, isComplete } = this.#list(versions, unquote(name));
      const own = new Set([...bundles].filter((bundle) => bundle.catalog === from));
      ensure(own.size > 0, "the catalog does not have the version");
      const actual = this.#all.filter((bundle) => bundle.packageName === unquote(name) && bundle.catalog === from);
      this.#isSame({ bundles: own, isComplete }, actual, "the catalog");
    }
    const [name = ""] = names;
    ensure(names.size === 1, "several packages");
    const bundles = this.#all.filter(({ packageName }) => packageName === name);
    if (!/ more catalogs?$/.test(sentence))
      ensure(
        bundles.every(({ catalog }) => catalogs.includes(catalog)),
        "another catalog has the package",
      );
    if (obstacles !== undefined) this.#checkObstacles(obstacles, all ? bundles : undefined);
    return [{ kind: "complete", leaf: `package ${name}` }];
  }

  /** @param subject the bundles that the clauses are about, if they do not name them */
  #checkObstacles(text: string, subject?: readonly AnyBundle[]): void {
    const forms: readonly (readonly [RegExp, (bundle: RejectedSolverBundle, match: RegExpExecArray) => boolean])[] = [
      [
        /^(.*?) ?(?:declares?) an invalid constraint that (?:its|their) author must correct: (.*)$/,
        ({ why }, [, , fault]) => why.kind === "faulty" && why.fault === fault,
      ],
      [/^(.*?) ?(?:has|have) no valid version$/, ({ why }) => why.kind === "unversioned"],
      [
        new RegExp(String.raw`^(.*?) ?cannot be installed, because (${QUOTED}) is not a valid name of a ClusterExtension$`),
        ({ why, packageName }, [, , name = ""]) => why.kind === "unnamed" && unquote(name) === packageName,
      ],
      [
        new RegExp(String.raw`^(.*?) ?cannot replace the installed (${VERSION})$`),
        ({ why, packageName }, [, , version = ""]) => {
          const unit = this.#unitOf(packageName);
          const [current] = unit?.candidates ?? [];
          return why.kind === "fixed" && unit?.kind === "installed" && current !== undefined && versionText(current) === unquote(version);
        },
      ],
      [/^(.*?) ?(?:is not a wanted bundle|are not wanted bundles)$/, ({ why }) => why.kind === "fixed"],
    ];
    for (const clause of text.split("; ")) {
      if (/^\d+ more bundles? cannot be chosen$/.test(clause)) continue;
      const found = forms.flatMap(([form, holds]) => {
        const match = form.exec(clause);
        return match ? [{ match, holds }] : [];
      })[0];
      ensure(found !== undefined, `"${clause}" is not a reason`);
      const listed = subject ?? [...this.#list(found?.match[1] ?? "").bundles];
      for (const bundle of listed) ensure("why" in bundle && found?.holds(bundle, found.match) === true, `"${clause}" is not true`);
    }
  }

  /** Returns the leaf of the problem with this description. */
  #leafOf(described: string): LeafConstraint {
    const leaf = this.#problem.units
      .flatMap(({ candidates }) => candidates)
      .flatMap(({ constraints }) => constraints)
      .flatMap(listAllLeaves)
      .find((one) => describeConstraint(one) === described);
    if (!leaf) throw new FalseSentence(`nothing requires ${described}`);
    return leaf;
  }

  #provider(text: string): Claim[] | undefined {
    const exclusive = /^(.*) provides? (API \S+ \S+), which can have only one provider$/.exec(text);
    const owned = new RegExp(String.raw`^(API \S+ \S+) is provided by (.*), but already belongs to (${QUOTED})$`).exec(text);
    const api = exclusive?.[2] ?? owned?.[1];
    const list = exclusive?.[1] ?? owned?.[2];
    if (api === undefined || list === undefined) return undefined;
    const provides = ({ apis }: AnyBundle): boolean => apis.some((gvk) => describeConstraint({ kind: "gvk", gvk }) === api);
    const { bundles, isComplete } = this.#list(list);
    ensure([...bundles].every(provides), "a listed bundle does not provide the API");
    if (owned)
      ensure(
        this.#problem.served.some(
          ({ gvk, owner }) => describeConstraint({ kind: "gvk", gvk }) === api && owner === unquote(owned[3] ?? ""),
        ),
        "the API does not belong to it",
      );
    const meant = isComplete ? bundles : new Set(this.#all.filter(provides));
    return [{ kind: "atMost", count: owned ? 0 : 1, bundles: meant }];
  }

  #requirement(text: string): Claim[] | undefined {
    const match = new RegExp(String.raw`^((?:${QUOTED}|[^"])*?) requires? (.*)$`, "s").exec(text);
    if (!match) return undefined;
    const [, subject = "", rest = ""] = match;
    const listed = this.#list(subject);
    const bundles = [...listed.bundles].filter((bundle): bundle is SolverBundle => "constraints" in bundle);
    ensure(bundles.length === listed.bundles.size, "a bundle without known constraints requires nothing");
    const descriptions = bundles.map((bundle) =>
      bundle.constraints.flatMap(splitAll).filter((one) => rest.startsWith(describeConstraint(one))),
    );
    const constraints = new Map<AnyBundle, BundleConstraint>();
    for (const [index, found] of descriptions.entries()) {
      const longest = found.sort((a, b) => describeConstraint(b).length - describeConstraint(a).length)[0];
      const bundle = bundles[index];
      ensure(longest !== undefined, `${bundle?.name} does not require this`);
      if (bundle && longest) constraints.set(bundle, longest);
    }
    const [constraint] = constraints.values();
    if (!constraint) throw new FalseSentence("no bundle requires it");
    const tail = this.#checkMessages(rest.slice(describeConstraint(constraint).length), bundles);
    return [{ kind: "requires", constraints }, ...this.#impliedPresence(bundles), ...this.#tail(tail, constraint)];
  }

  /** A requirement of all candidates of a wanted package, or of an installed bundle that cannot change, shows that one is present, and no other. */
  #impliedPresence(bundles: readonly SolverBundle[]): Claim[] {
    const unit = this.#unitOf(bundles[0]?.packageName ?? "");
    const isAll = unit?.candidates.every((candidate) => bundles.includes(candidate)) === true;
    if (!unit || !isAll || unit.kind === "offered" || (unit.kind === "installed" && bundles.length > 1)) return [];
    return [
      { kind: "present", bundles },
      { kind: "complete", leaf: `package ${unit.packageName}` },
    ];
  }

  /** @returns the text after the author's messages */
  #checkMessages(text: string, bundles: readonly SolverBundle[]): string {
    const match = new RegExp(String.raw`^ \((${QUOTED}(?:; ${QUOTED})*)\)`).exec(text);
    const known = new Set(bundles.flatMap(({ constraints }) => constraints.flatMap(listMessages)));
    for (const [message] of match?.[1]?.matchAll(new RegExp(QUOTED, "g")) ?? [])
      ensure(known.has(unquote(message)) || message.includes("…"), `no author wrote ${message}`);
    return text.slice(match?.[0].length ?? 0);
  }

  /** Reads the clauses after a constraint: that no bundle meets it, or which bundles and APIs it excludes. */
  #tail(text: string, constraint: BundleConstraint): Claim[] {
    if (text === "") return [];
    const lack = /^, (?:which no selected catalog has|which no bundle of the selected catalogs provides|but no such bundle exists)$/.test(
      text,
    );
    if (lack) {
      if ("constraints" in constraint) throw new FalseSentence("a compound constraint is not missing");
      const isMet = (bundle: AnyBundle): boolean =>
        constraint.kind === "package" ? bundle.packageName === constraint.packageName : meets(bundle, constraint);
      ensure(!this.#all.some(isMet), "a bundle meets it");
      return [{ kind: "complete", leaf: getOfferText(constraint) }];
    }
    ensure(text.startsWith(", but "), `"${text}" is unknown`);
    this.#checkExcluded(text.slice(", but ".length), [...listExcluded(constraint)]);
    return [];
  }

  /** @param leaves the leaves that must be false */
  #checkExcluded(text: string, leaves: readonly LeafConstraint[]): void {
    let pending: AnyBundle[] = [];
    let name = "";
    for (const item of splitList(text)) {
      if (MORE.test(item)) continue;
      const served = /^the cluster serves (.*)$/.exec(item);
      const bundle = new RegExp(
        String.raw`^(?:there (?:is|are) )?(.*?)(?: (?:provides?|is|are) (API .*|a bundle that matches .*))?$`,
        "s",
      ).exec(item);
      if (served) {
        ensure(
          this.#problem.served.some(({ gvk }) => describeConstraint({ kind: "gvk", gvk }) === served[1]) &&
            leaves.some((leaf) => describeConstraint(leaf) === served[1]),
          "the API is not excluded",
        );
        continue;
      }
      const listed = this.#list(bundle?.[1] ?? "", name).bundles;
      name = [...listed].at(-1)?.packageName ?? name;
      pending = [...pending, ...listed];
      for (const one of listed)
        ensure(
          leaves.some((leaf) => meets(one, leaf)),
          `${one.name} is not excluded`,
        );
      const described = bundle?.[2];
      if (described === undefined) continue;
      const leaf = leaves.find((one) => describeConstraint(one) === described);
      ensure(leaf !== undefined && [...listed].every((one) => meets(one, leaf)), `${item} is not excluded`);
      pending = [];
    }
  }
}

function versionText({ version, name }: AnyBundle): string {
  return version ? formatVersionRelease(version) : name;
}

/** Splits a sentence from the reasons why bundles in it cannot be chosen; `isAll` if the reason is about all of them. */
function splitObstacles(text: string): [sentence: string, obstacles: string | undefined, isAll: boolean] {
  const which = /^(.*), which ((?:declares?|has|have|cannot|is not|are not) .*)$/s.exec(text);
  if (which) return [which[1] ?? "", which[2] ?? "", true];
  const but = /^(.*?), but (.*)$/s.exec(text);
  return but ? [but[1] ?? "", but[2] ?? "", false] : [text, undefined, false];
}

function listAllLeaves(constraint: BundleConstraint): LeafConstraint[] {
  return "constraints" in constraint ? constraint.constraints.flatMap(listAllLeaves) : [constraint];
}

/** Returns the parts of a constraint that must all be true. */
function splitAll(constraint: BundleConstraint): BundleConstraint[] {
  return constraint.kind === "all" ? constraint.constraints.flatMap(splitAll) : [constraint];
}

function* listExcluded(constraint: BundleConstraint, expected = true): Generator<LeafConstraint> {
  if (!("constraints" in constraint)) {
    if (!expected) yield constraint;
  } else for (const member of constraint.constraints) yield* listExcluded(member, constraint.kind === "not" ? !expected : expected);
}

function listMessages(constraint: BundleConstraint): string[] {
  const members = "constraints" in constraint ? constraint.constraints.flatMap(listMessages) : [];
  return constraint.failureMessage === undefined ? members : [constraint.failureMessage, ...members];
}

function getOfferText(leaf: LeafConstraint): string {
  return leaf.kind === "package" ? `package ${leaf.packageName}` : describeConstraint(leaf);
}

/** Reports whether a set of bundles agrees with all claims, if everything else is unknown. Tries all sets. */
function canAllBeTrue(claims: readonly Claim[], { units, served }: SolverProblem): boolean {
  const complete = new Set(claims.flatMap((claim) => (claim.kind === "complete" ? [claim.leaf] : [])));
  const isServed = (leaf: LeafConstraint): boolean =>
    leaf.kind === "gvk" && served.some(({ gvk }) => describeConstraint({ kind: "gvk", gvk }) === describeConstraint(leaf));
  const isTrue = (constraint: BundleConstraint, expected: boolean, set: readonly AnyBundle[]): boolean => {
    if ("constraints" in constraint) {
      const member = constraint.kind === "not" ? !expected : expected;
      const each = constraint.kind === "any" ? !expected : expected;
      return constraint.constraints[each ? "every" : "some"]((one) => isTrue(one, member, set));
    }
    const isMet = isServed(constraint) || set.some((bundle) => meets(bundle, constraint));
    return isMet === expected || (expected && !complete.has(getOfferText(constraint)));
  };
  const agrees = (claim: Claim, set: readonly AnyBundle[]): boolean => {
    if (claim.kind === "present") return claim.bundles.some((bundle) => set.includes(bundle));
    if (claim.kind === "atMost") return set.filter((bundle) => claim.bundles.has(bundle)).length <= claim.count;
    if (claim.kind === "complete") return true;
    return set.every((bundle) => {
      const constraint = claim.constraints.get(bundle);
      return constraint === undefined || isTrue(constraint, true, set);
    });
  };
  let sets: SolverBundle[][] = [[]];
  for (const { candidates } of units) sets = sets.flatMap((set) => [set, ...candidates.map((candidate) => [...set, candidate])]);
  return sets.some((set) => claims.every((claim) => agrees(claim, set)));
}

/** @throws Error if a sentence is false, the sentences do not exclude every solution, or one of them is redundant although `isMinimal` is true */
export function checkExplanation(sentences: readonly string[], problem: SolverProblem, { isMinimal = true } = {}): void {
  const reader = new ClaimReader(problem);
  const claims = sentences.map((sentence) => reader.read(sentence));
  if (canAllBeTrue(claims.flat(), problem)) throw new Error(`these sentences do not exclude every solution:\n${sentences.join("\n")}`);
  for (const index of isMinimal ? sentences.keys() : [])
    if (!canAllBeTrue(claims.toSpliced(index, 1).flat(), problem))
      throw new Error(`redundant: ${sentences[index]}\namong:\n${sentences.join("\n")}`);
}

/** @param solutions all solutions of the problem @throws Error if the sentence is not `no solution contains …`, or a solution contains a bundle of it */
export function checkImpossible(sentence: string, problem: SolverProblem, solutions: readonly ReadonlySet<SolverBundle>[]): void {
  const [, list] = /^no solution contains (.*)$/.exec(sentence) ?? [];
  if (list === undefined) throw new Error(`unknown form: ${sentence}`);
  for (const bundle of new ClaimReader(problem).readBundles(list))
    if ("constraints" in bundle && solutions.some((solution) => solution.has(bundle)))
      throw new Error(`${bundle.name} is in a solution: ${sentence}`);
}
