import { Dialog } from './dialog.tsx'
import { setSingleKeys, shortcuts, singleKeys } from './keyboard.ts'

const names: Readonly<Record<string, string>> = {
  mod: /Mac|iP(hone|ad)/.test(navigator.platform) ? '⌘' : 'Ctrl',
}

export function Help({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="help-keys">
        {shortcuts.value.map(({ keys, label }) => (
          <div key={keys}>
            <dt>
              {keys.split('+').map((key) => (
                <kbd key={key}>{names[key] ?? key}</kbd>
              ))}
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
      <label class="help-single">
        <input
          type="checkbox"
          checked={singleKeys.value}
          onChange={(event) => setSingleKeys(event.currentTarget.checked)}
        />{' '}
        Enable single-key shortcuts
      </label>
      <form method="dialog">
        <button type="submit" class="primary">
          Close
        </button>
      </form>
    </Dialog>
  )
}
