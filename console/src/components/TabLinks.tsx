import "@patternfly/patternfly/components/Tabs/tabs.css";
import "./tabLinks.css";
import type { ReactElement } from "react";
import { Link, type To } from "react-router";

/** A tab with its own address. */
export interface TabLink {
  readonly to: To;
  readonly label: string;
  readonly isCurrent: boolean;
}

/** Tabs as links, so that each has an address. */
export function TabLinks({
  label,
  tabs,
  isInset = false,
}: {
  /** Says what the tabs belong to. */
  readonly label: string;
  readonly tabs: readonly TabLink[];
  /** Whether the tabs begin where the text of the page begins. */
  readonly isInset?: boolean;
}): ReactElement {
  return (
    <nav className={`pf-v6-c-tabs pf-m-nav olm-tabs${isInset ? " pf-m-page-insets" : ""}`} aria-label={label}>
      <ul className="pf-v6-c-tabs__list">
        {tabs.map((tab) => (
          <li key={tab.label} className={`pf-v6-c-tabs__item${tab.isCurrent ? " pf-m-current" : ""}`}>
            <Link to={tab.to} aria-current={tab.isCurrent ? "page" : undefined} className="pf-v6-c-tabs__link">
              <span className="pf-v6-c-tabs__item-text">{tab.label}</span>
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
