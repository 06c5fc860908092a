import { type ReactElement, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Link } from "react-router";
import type { PackageCard } from "../../../../pkg/consoleapi/packages.ts";
import { Label } from "../../components/Label.tsx";
import { useVirtualRows } from "../../components/virtualRows.ts";
import { packagesText } from "../../text/packages.ts";
import { getPackagePath } from "./catalogData.tsx";
import { PackageIconImage } from "./PackageIconImage.tsx";

/** Sizes in pixels; the style sheet uses the same. */
const CARD_WIDTH = 300;
const GAP = 16;
const ROW = 164;

/**
 * Packages as cards in as many columns as fit. Renders only the visible cards.
 * @param onEnd called when the last card becomes visible
 */
export function PackageCards({ cards, onEnd }: { readonly cards: readonly PackageCard[]; readonly onEnd: () => void }): ReactElement {
  const container = useRef<HTMLUListElement>(null);
  const columns = useColumns(container);
  const rows = Math.ceil(cards.length / columns);
  const { items, before, after } = useVirtualRows(container, rows, ROW);
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (rows > 0 && last >= rows - 1) onEnd();
  });
  return (
    <ul
      ref={container}
      className="olm-cards"
      aria-label={packagesText.results}
      style={{ gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`, paddingBlock: `${before}px ${after}px` }}
    >
      {items
        .flatMap(({ index }) => cards.slice(index * columns, (index + 1) * columns))
        .map((card) => (
          <li key={`${card.catalog}/${card.package}`} className="olm-card">
            <Card card={card} />
          </li>
        ))}
    </ul>
  );
}

function Card({ card }: { readonly card: PackageCard }): ReactElement {
  const {
    package: name,
    catalog,
    displayName,
    description,
    provider,
    version,
    isDeprecated,
    support,
    installedBy = [],
    obstacles = [],
  } = card;
  return (
    <article className="olm-card-content">
      <header className="olm-card-header">
        <PackageIconImage catalog={catalog} name={name} />
        <div className="olm-card-heading">
          <h2>
            <Link to={getPackagePath({ package: name, catalog })} className="olm-card-link" dir="auto">
              {displayName ?? name}
            </Link>
          </h2>
          <p className="olm-subtle olm-one-line" dir="auto">
            {[version ?? packagesText.noVersion, provider].filter(Boolean).join(" · ")}
          </p>
        </div>
      </header>
      <p className="olm-card-text olm-break" dir="auto">
        {description}
      </p>
      <footer className="olm-card-footer">
        {installedBy.length > 0 && (
          <Label isCompact status="success" isOutlined>
            {packagesText.installed}
          </Label>
        )}
        {isDeprecated && (
          <Label isCompact status="warning" isOutlined>
            {packagesText.deprecated}
          </Label>
        )}
        {support && (
          <Label isCompact status={support.isSupported ? "success" : "warning"} isOutlined title={support.text}>
            {support.isSupported ? packagesText.supported : packagesText.notSupported}
          </Label>
        )}
        {obstacles.length > 0 && (
          <Label isCompact isOutlined title={obstacles.join("; ")}>
            {packagesText.obstacles}
          </Label>
        )}
        <span className="olm-subtle olm-one-line" dir="auto">
          {catalog}
        </span>
      </footer>
    </article>
  );
}

/** Returns the number of columns that fit into the element. */
function useColumns(container: { readonly current: HTMLElement | null }): number {
  const [columns, setColumns] = useState(1);
  useLayoutEffect(() => {
    const element = container.current;
    if (!element) return undefined;
    const measure = (): void => setColumns(Math.max(1, Math.floor((element.clientWidth + GAP) / (CARD_WIDTH + GAP))));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [container]);
  return columns;
}
