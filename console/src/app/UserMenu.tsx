import { lazy, type ReactElement } from "react";
import { Label } from "../components/Label.tsx";
import { MenuButton } from "../components/MenuButton.tsx";
import { text } from "../text/en.ts";
import { useSession } from "./consoleState.tsx";
import { useTheme } from "./theme.ts";

const loadList = () => import("./UserMenuList.tsx");
const UserMenuList = lazy(loadList);

/** Who acts on which cluster, and the theme. */
export function UserMenu(): ReactElement {
  const session = useSession();
  const { user, context, readOnly, mode } = session;
  const [theme, setTheme] = useTheme();
  return (
    <>
      {readOnly && (
        <Label status="info" isOutlined title={text.user.readOnlyHint[mode]}>
          {text.user.readOnly}
        </Label>
      )}
      <MenuButton
        variant="plainText"
        className="olm-user"
        load={loadList}
        menu={(opened) => <UserMenuList session={session} theme={theme} onTheme={setTheme} opened={opened} />}
      >
        {user ?? context ?? text.common.unknown}
      </MenuButton>
    </>
  );
}
