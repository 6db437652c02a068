import type { Session } from '../session.ts'

/** Why a view of the panel is empty or no longer changes. Nothing while the thread is followed. */
export function ConnectionNote({ session }: { readonly session: Session }) {
  const { value: problem } = session.problem
  const texts = {
    loading: 'Loading the thread…',
    live: '',
    reconnecting: 'Connection lost. This is what the page knew before. Reconnecting…',
    gone: problem,
    failed: `Can't load this thread: ${problem}`,
  }
  const text = texts[session.connection.value]
  return text ? <p class="detail-note quiet">{text}</p> : null
}
