import { Icon } from '../icons.tsx'
import type { Session } from '../session.ts'

/** Covers the conversation of a thread that has nothing to show, or not yet. */
export function EmptyThread({ session }: { readonly session: Session }) {
  const { rows, waiting, versions } = session.log
  if (session.tick.value >= 0 && rows.length + waiting.length + versions.size > 0) return null
  const { value: connection } = session.connection
  if (connection === 'loading')
    return (
      // The status line says that it is loading.
      <div class="chat-empty chat-skeleton" aria-hidden="true">
        <i />
        <i />
        <i />
      </div>
    )
  const [icon, title, text] = {
    live: ['send', 'No messages yet', 'Send one to start the conversation.'] as const,
    reconnecting: ['retry', "Can't reach the server", 'The page keeps trying.'] as const,
    failed: ['warning', "Can't load this thread", session.problem.value] as const,
    gone: ['trash', 'Nothing here', session.problem.value] as const,
  }[connection]
  return (
    <div class="chat-empty">
      <Icon name={icon} />
      <h3>{title}</h3>
      <p class="quiet">{text}</p>
    </div>
  )
}
