export default function Page() {
  return (
    <main>
      <p>
        <a href="/chat">Chat with a server</a>: stored, resumable, with approvals
      </p>
      <p>
        <a href="/run">Chat in a route handler</a>: one run for each message
      </p>
    </main>
  )
}
