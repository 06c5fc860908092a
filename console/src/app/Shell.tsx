import {
  Button,
  Masthead,
  MastheadBrand,
  MastheadContent,
  MastheadLogo,
  MastheadMain,
  MastheadToggle,
  Nav,
  NavItem,
  NavList,
  Page,
  PageSidebar,
  PageSidebarBody,
  PageToggleButton,
  SkipToContent,
} from "@patternfly/react-core";
import { BarsIcon } from "@patternfly/react-icons";
import { type ReactElement, Suspense, useState } from "react";
import { NavLink, Outlet, useLocation } from "react-router";
import { ActionHost } from "../actions/actionHost.tsx";
import { Placeholder } from "../components/QueryView.tsx";
import { text } from "../text/en.ts";
import { ConnectionBanner } from "./ConnectionBanner.tsx";
import { useExtensionsPath } from "./consoleState.tsx";
import { Shortcuts } from "./shortcuts.tsx";
import { UserMenu } from "./UserMenu.tsx";

const MAIN_ID = "main-content";
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
    <Page
      mainContainerId={MAIN_ID}
      skipToContent={<SkipToContent href={`#${MAIN_ID}`}>{text.skipToContent}</SkipToContent>}
      masthead={<Header isSidebarOpen={isSidebarOpen} toggle={() => setSidebarOpen(!isSidebarOpen)} showHelp={() => setHelpOpen(true)} />}
      sidebar={<Navigation isOpen={isSidebarOpen} onSelect={closeOnPhone} />}
    >
      <ConnectionBanner />
      <ActionHost>
        <Suspense fallback={<Placeholder lines={8} />}>
          <Outlet />
        </Suspense>
      </ActionHost>
      <Shortcuts isHelpOpen={isHelpOpen} setHelpOpen={setHelpOpen} />
    </Page>
  );
}

function Header({
  isSidebarOpen,
  toggle,
  showHelp,
}: {
  readonly isSidebarOpen: boolean;
  readonly toggle: () => void;
  readonly showHelp: () => void;
}): ReactElement {
  return (
    <Masthead>
      <MastheadMain>
        <MastheadToggle>
          <PageToggleButton variant="plain" aria-label={text.navigation.toggle} isSidebarOpen={isSidebarOpen} onSidebarToggle={toggle}>
            <BarsIcon />
          </PageToggleButton>
        </MastheadToggle>
        <MastheadBrand>
          <MastheadLogo component={(props) => <NavLink {...props} to="/" className="olm-logo" />}>
            <img src={"/favicon.svg"} alt="" width={28} height={28} />
            <span>{text.product}</span>
          </MastheadLogo>
        </MastheadBrand>
      </MastheadMain>
      <MastheadContent>
        <Button variant="plain" className="olm-help" aria-label={text.user.shortcuts} onClick={showHelp}>
          ?
        </Button>
        <UserMenu />
      </MastheadContent>
    </Masthead>
  );
}

function Navigation({ isOpen, onSelect }: { readonly isOpen: boolean; readonly onSelect: () => void }): ReactElement {
  const { pathname } = useLocation();
  const extensionsPath = useExtensionsPath();
  return (
    <PageSidebar isSidebarOpen={isOpen}>
      <PageSidebarBody>
        <Nav aria-label={text.navigation.label} onSelect={onSelect}>
          <NavList>
            {ITEMS.map(({ to, label }) => {
              const isActive = to === "/" ? pathname === "/" : pathname === to || pathname.startsWith(`${to}/`);
              return (
                <NavItem key={to} itemId={to} isActive={isActive}>
                  <NavLink to={to === "/extensions" ? extensionsPath : to} aria-current={isActive ? "page" : undefined}>
                    {label}
                  </NavLink>
                </NavItem>
              );
            })}
          </NavList>
        </Nav>
      </PageSidebarBody>
    </PageSidebar>
  );
}
