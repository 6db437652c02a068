import { Chat } from '../chat.tsx'

/** A conversation that only the browser has. */
export default function Page() {
  return <Chat api="/api/run" />
}
