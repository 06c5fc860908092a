import "@patternfly/patternfly/components/Masthead/masthead.css";
import "@patternfly/patternfly/components/Page/page.css";
import "@patternfly/patternfly/components/SkipToContent/skip-to-content.css";
import type { ReactElement, ReactNode } from "react";
import { Link } from "react-router";
import { text } from "../text/en.ts";

const MAIN_ID = "main-content";

/** Header and main part around every page, with the classes of PatternFly. */
export function PageFrame({
  home,
  logo,
  toggle,
  tools,
  sidebar,
  children,
}: {
  /** Path that the logo links to. */
  readonly home: string;
  /** Address of the logo. */
  readonly logo: string;
  /** The button that opens the sidebar. */
  readonly toggle?: ReactNode;
  /** Shown at the end of the header. */
  readonly tools: ReactNode;
  readonly sidebar?: ReactNode;
  readonly children: ReactNode;
}): ReactElement {
  return (
    <div className="pf-v6-c-page">
      <div className="pf-v6-c-skip-to-content">
        <a className="pf-v6-c-button pf-m-primary" href={`#${MAIN_ID}`} onClick={focusMain}>
          {text.skipToContent}
        </a>
      </div>
      <header className={`pf-v6-c-masthead ${toggle === undefined ? "pf-m-display-inline" : "pf-m-display-inline-on-md"}`}>
        <div className="pf-v6-c-masthead__main">
          {toggle !== undefined && <span className="pf-v6-c-masthead__toggle">{toggle}</span>}
          <div className="pf-v6-c-masthead__brand">
            <Link to={home} className="pf-v6-c-masthead__logo olm-logo">
              <img src={logo} alt="" width={28} height={28} />
              <span>{text.product}</span>
            </Link>
          </div>
        </div>
        <div className="pf-v6-c-masthead__content">{tools}</div>
      </header>
      {sidebar}
      <div className="pf-v6-c-page__main-container">
        <main className="pf-v6-c-page__main" id={MAIN_ID} tabIndex={-1}>
          {children}
        </main>
      </div>
    </div>
  );
}

/** Moves the focus without a new fragment, which may be the address of the page. */
function focusMain(event: React.MouseEvent): void {
  event.preventDefault();
  document.getElementById(MAIN_ID)?.focus();
}
