import { Dialog } from './dialog.tsx'
import { allowSingleKeys, shortcuts, singleKeys } from './keyboard.ts'

const names: Readonly<Record<string, string>> = {
  mod: /Mac|iP(hone|ad)/.test(navigator.platform) ? '⌘' : 'Ctrl',
}

export function Help({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="help-keys">
        {shortcuts.value.map(({ keys, does }) => (
          <div key={keys}>
            <dt>
              {keys.split('+').map((key) => (
                <kbd key={key}>{names[key] ?? key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <label class="help-single">
        <input
          type="checkbox"
          checked={singleKeys.value}
          onChange={(event) => allowSingleKeys(event.currentTarget.checked)}
        />{' '}
        Single keys work as shortcuts
      </label>
      <form method="dialog">
        <button type="submit" class="primary">
          Close
        </button>
      </form>
    </Dialog>
  )
}
