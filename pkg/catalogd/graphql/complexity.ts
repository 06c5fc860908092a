import {
  type DocumentNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from "graphql";
import type { QueryLimits } from "./limits.ts";
import { QueryError } from "./queryError.ts";

/** Fields of the query that ask for the schema itself. */
const INTROSPECTION: ReadonlySet<string> = new Set(["__schema", "__type"]);

/**
 * Refuses a document that is too deep, or has too many fields or aliases, over all of its operations. A fragment counts each time it is used, a
 * fragment that is not defined not at all; what asks for the schema has limits of its own, so that the usual tools can ask for it.
 * @throws QueryError with the words of the Go server.
 * @see operator-controller internal/catalogd/graphql/validation.go
 */
export function checkComplexity(document: DocumentNode, limits: QueryLimits): void {
  const fragments = new Map<string, FragmentDefinitionNode>();
  const operations: OperationDefinitionNode[] = [];
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
    else if (definition.kind === Kind.OPERATION_DEFINITION) operations.push(definition);
  }
  const counter = new ComplexityCounter(fragments, limits);
  for (const { selectionSet } of operations) counter.walk(selectionSet, { depth: 1, introspects: false });
}

interface Place {
  depth: number;
  introspects: boolean;
}

class ComplexityCounter {
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #limits: QueryLimits;
  /** Fragments that are being expanded: one that uses itself is validation's to refuse. */
  readonly #open = new Set<string>();
  #selections = 0;
  #fields = 0;
  #introspectionFields = 0;
  #aliases = 0;

  constructor(fragments: ReadonlyMap<string, FragmentDefinitionNode>, limits: QueryLimits) {
    this.#fragments = fragments;
    this.#limits = limits;
  }

  walk(set: SelectionSetNode | undefined, place: Place): void {
    if (!set) return;
    const limit = place.introspects ? this.#limits.introspectionDepth : this.#limits.depth;
    if (place.depth > limit) throw new QueryError(`query exceeds maximum depth of ${limit}`);
    for (const selection of set.selections) this.#select(selection, place);
  }

  #select(selection: SelectionNode, { depth, introspects }: Place): void {
    const below = { depth: depth + 1, introspects };
    if (++this.#selections > this.#limits.selections) throw tooManyFields(this.#limits.fields);
    if (selection.kind === Kind.FIELD) {
      const asks = introspects || INTROSPECTION.has(selection.name.value);
      this.#count(asks);
      if (selection.alias && ++this.#aliases > this.#limits.aliases)
        throw new QueryError(`query exceeds maximum alias count of ${this.#limits.aliases}`);
      this.walk(selection.selectionSet, asks === introspects ? below : { depth: 1, introspects: asks });
    } else if (selection.kind === Kind.INLINE_FRAGMENT) {
      this.walk(selection.selectionSet, below);
    } else {
      const name = selection.name.value;
      if (this.#open.has(name)) return;
      this.#open.add(name);
      this.walk(this.#fragments.get(name)?.selectionSet, below);
      this.#open.delete(name);
    }
  }

  #count(introspects: boolean): void {
    const { fields, introspectionFields } = this.#limits;
    if (introspects && ++this.#introspectionFields > introspectionFields) throw tooManyFields(introspectionFields);
    if (!introspects && ++this.#fields > fields) throw tooManyFields(fields);
  }
}

function tooManyFields(limit: number): QueryError {
  return new QueryError(`query exceeds maximum field count of ${limit}`);
}
