import type { ReactElement, ReactNode } from "react";
import type { RefusalView } from "../../../../../pkg/consoleapi/why.ts";
import { whyText } from "../../../text/why.ts";

const t = whyText.refusals;

/** Why bundles cannot be installed because of dependencies: which bundle needs what, what conflicts, and what makes it possible. */
export function RefusalList({
  refusals,
  hasBundle,
}: {
  readonly refusals: readonly RefusalView[];
  /** Whether to name the bundle of each refusal. */
  readonly hasBundle: boolean;
}): ReactElement {
  return (
    <ul className="olm-refusals">
      {refusals.map((refusal) => (
        <li key={refusal.bundle}>
          {hasBundle && (
            <strong className="olm-break">
              <bdi>{refusal.bundle}</bdi>
            </strong>
          )}
          <Reasons refusal={refusal} />
        </li>
      ))}
    </ul>
  );
}

function Reasons({
  refusal: { reasons, requires, provided, dependents, conflict, remedy },
}: {
  readonly refusal: RefusalView;
}): ReactElement {
  return (
    <dl className="olm-refusal">
      <Part label={t.requires} items={requires} />
      <Part label={t.provided} items={provided.map(({ api, extension, bundle }) => t.providedBy(api, extension, bundle))} />
      <Part
        label={t.dependents}
        items={dependents.map(({ extension, bundle, requires: lost }) => `${extension} (${bundle}): ${lost.join(", ")}`)}
      />
      {conflict.length > 0 ? (
        <Part label={t.conflict} items={conflict.map(({ text }) => text)} isOrdered />
      ) : (
        <Part label={t.conflict} items={provided.length + dependents.length > 0 ? [] : reasons} />
      )}
      <Part label={t.remedy} items={remedy} isOrdered />
    </dl>
  );
}

function Part({
  label,
  items,
  isOrdered = false,
}: {
  readonly label: string;
  readonly items: readonly string[];
  readonly isOrdered?: boolean;
}): ReactElement | null {
  if (items.length === 0) return null;
  const lines: ReactNode = items.map((item) => (
    <li key={item} className="olm-break" dir="auto">
      {item}
    </li>
  ));
  return (
    <div>
      <dt>{label}</dt>
      <dd>{isOrdered && items.length > 1 ? <ol>{lines}</ol> : <ul>{lines}</ul>}</dd>
    </div>
  );
}
