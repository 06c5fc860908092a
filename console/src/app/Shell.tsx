import "@patternfly/patternfly/components/Nav/nav.css";
import { Button } from "@patternfly/react-core";
import { BarsIcon } from "@patternfly/react-icons";
import { type ReactElement, useState } from "react";
import { Link, useLocation } from "react-router";
import { ActionHost } from "../actions/actionHost.tsx";
import { text } from "../text/en.ts";
import { ConnectionBanner } from "./ConnectionBanner.tsx";
import { useExtensionsPath } from "./consoleState.tsx";
import { PageFrame } from "./PageFrame.tsx";
import { PageOutlet } from "./routes.tsx";
import { Shortcuts } from "./shortcuts.tsx";
import { UserMenu } from "./UserMenu.tsx";

const WIDE_PX = 1200;
const ITEMS = [
  { to: "/", label: text.navigation.attention },
  { to: "/extensions", label: text.navigation.extensions },
  { to: "/packages", label: text.navigation.packages },
  { to: "/catalogs", label: text.navigation.catalogs },
  { to: "/dependencies", label: text.navigation.dependencies },
  { to: "/cluster-upgrade", label: text.navigation.clusterUpgrade },
  { to: "/installation", label: text.navigation.doctor },
] as const;

/** Header, navigation and connection state around every page. */
export function Shell(): ReactElement {
  const [isSidebarOpen, setSidebarOpen] = useState(() => innerWidth >= WIDE_PX);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const closeOnPhone = (): void => {
    if (innerWidth < WIDE_PX) setSidebarOpen(false);
  };
  return (
    <PageFrame
      home="/"
      logo="/favicon.svg"
      toggle={
        <Button
          variant="plain"
          aria-label={text.navigation.toggle}
          aria-expanded={isSidebarOpen}
          icon={<BarsIcon />}
          onClick={() => setSidebarOpen(!isSidebarOpen)}
        />
      }
      tools={
        <>
          <Button variant="plain" className="olm-help" aria-label={text.user.shortcuts} onClick={() => setHelpOpen(true)}>
            ?
          </Button>
          <UserMenu />
        </>
      }
      sidebar={<Sidebar isOpen={isSidebarOpen} onSelect={closeOnPhone} />}
    >
      <ConnectionBanner />
      <ActionHost>
        <PageOutlet />
      </ActionHost>
      <Shortcuts isHelpOpen={isHelpOpen} setHelpOpen={setHelpOpen} />
    </PageFrame>
  );
}

function Sidebar({ isOpen, onSelect }: { readonly isOpen: boolean; readonly onSelect: () => void }): ReactElement {
  const { pathname } = useLocation();
  const extensionsPath = useExtensionsPath();
  return (
    <div className={`pf-v6-c-page__sidebar${isOpen ? "" : " pf-m-collapsed"}`} inert={!isOpen}>
      <div className="pf-v6-c-page__sidebar-main">
        <div className="pf-v6-c-page__sidebar-body">
          <nav className="pf-v6-c-nav" aria-label={text.navigation.label}>
            <ul className="pf-v6-c-nav__list">
              {ITEMS.map(({ to, label }) => {
                const isActive = to === "/" ? pathname === "/" : pathname === to || pathname.startsWith(`${to}/`);
                return (
                  <li key={to} className="pf-v6-c-nav__item">
                    <Link
                      to={to === "/extensions" ? extensionsPath : to}
                      className={`pf-v6-c-nav__link${isActive ? " pf-m-current" : ""}`}
                      aria-current={isActive ? "page" : undefined}
                      onClick={onSelect}
                    >
                      {label}
                    </Link>
                  </li>
                );
              })}
            </ul>
          </nav>
        </div>
      </div>
    </div>
  );
}
