import { Divider, Dropdown, DropdownGroup, DropdownItem, DropdownList } from "@patternfly/react-core";
import type { ReactElement } from "react";
import type { Session } from "../../../pkg/consoleapi/session.ts";
import type { OpenedMenu } from "../components/MenuButton.tsx";
import { text } from "../text/en.ts";
import type { Theme } from "./theme.ts";

const THEMES: readonly Theme[] = ["light", "dark", "system"];

/** The content of UserMenu. */
export default function UserMenuList({
  session: { user, context, server },
  theme,
  onTheme,
  opened: { toggle, isOpen, onOpenChange },
}: {
  readonly session: Session;
  readonly theme: Theme;
  readonly onTheme: (theme: Theme) => void;
  readonly opened: OpenedMenu;
}): ReactElement {
  return (
    <Dropdown isOpen={isOpen} onOpenChange={onOpenChange} popperProps={{ position: "right" }} toggle={toggle}>
      <dl className="olm-identity">
        <dt>{text.user.signedInAs}</dt>
        <dd>{user ?? text.common.unknown}</dd>
        {context !== undefined && (
          <>
            <dt>{text.user.context}</dt>
            <dd>{context}</dd>
          </>
        )}
        <dt>{text.user.server}</dt>
        <dd>{server}</dd>
      </dl>
      <Divider />
      <DropdownGroup label={text.user.theme}>
        <DropdownList>
          {THEMES.map((one) => (
            <DropdownItem key={one} isSelected={one === theme} onClick={() => onTheme(one)}>
              {text.user.themes[one]}
            </DropdownItem>
          ))}
        </DropdownList>
      </DropdownGroup>
    </Dropdown>
  );
}
