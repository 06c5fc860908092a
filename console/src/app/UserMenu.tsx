import { Divider, Dropdown, DropdownGroup, DropdownItem, DropdownList, MenuToggle } from "@patternfly/react-core";
import { type ReactElement, useState } from "react";
import { Label } from "../components/Label.tsx";
import { text } from "../text/en.ts";
import { useSession } from "./consoleState.tsx";
import { type Theme, useTheme } from "./theme.ts";

const THEMES: readonly Theme[] = ["light", "dark", "system"];

/** Who acts on which cluster, and the theme. */
export function UserMenu(): ReactElement {
  const { user, context, server, readOnly, mode } = useSession();
  const [isOpen, setOpen] = useState(false);
  const [theme, setTheme] = useTheme();
  return (
    <>
      {readOnly && (
        <Label status="info" isOutlined title={text.user.readOnlyHint[mode]}>
          {text.user.readOnly}
        </Label>
      )}
      <Dropdown
        isOpen={isOpen}
        onOpenChange={setOpen}
        popperProps={{ position: "right" }}
        toggle={(ref) => (
          <MenuToggle ref={ref} variant="plainText" isExpanded={isOpen} onClick={() => setOpen(!isOpen)} className="olm-user">
            {user ?? context ?? text.common.unknown}
          </MenuToggle>
        )}
      >
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
              <DropdownItem key={one} isSelected={one === theme} onClick={() => setTheme(one)}>
                {text.user.themes[one]}
              </DropdownItem>
            ))}
          </DropdownList>
        </DropdownGroup>
      </Dropdown>
    </>
  );
}
