import { Dialog } from './dialog.tsx'
import './help.css'
import { setSingleKeys, shortcuts, singleKeys } from './keyboard.ts'
import { Keys } from './keys.tsx'

export function Help({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="help-keys">
        {shortcuts.value.map(({ keys, label }) => (
          <div key={keys}>
            <dt>
              <Keys keys={keys} />
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
      <label>
        <input
          type="checkbox"
          checked={singleKeys.value}
          onChange={(event) => setSingleKeys(event.currentTarget.checked)}
        />{' '}
        Enable single-key shortcuts
      </label>
      <form method="dialog" class="dialog-choice">
        <button type="submit" class="primary">
          Close
        </button>
      </form>
    </Dialog>
  )
}
