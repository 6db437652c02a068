import { useThread, useVoice } from '@millrace/react'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'

// A conversation by voice, for tests in a browser.

declare global {
  interface Window {
    readonly microphoneLevel: () => number
  }
}

function App() {
  const thread = useThread({ url: '/' })
  const voice = useVoice(thread)
  Object.assign(window, { microphoneLevel: voice.level })
  return (
    <>
      <output aria-label="State">{voice.state}</output>
      <output aria-label="Sentence">{voice.sentence}</output>
      <output aria-label="Transcript">{voice.transcript}</output>
      <output aria-label="Error">{voice.error}</output>
      <button type="button" onClick={() => voice.start()}>
        Talk
      </button>
      <button type="button" onClick={() => voice.stop()}>
        Hang up
      </button>
      {thread.messages.map((message) => (
        <p key={message.key}>
          {message.role === 'user' ? message.text : message.parts.map((part) => 'text' in part && part.text)}
        </p>
      ))}
    </>
  )
}

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
