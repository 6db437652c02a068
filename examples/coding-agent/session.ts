import { scriptedModel } from 'millrace/testing'

// What a model would do. Every call is really made: the tests fail before the edit and pass after it.
export const scriptedSession = () =>
  scriptedModel([
    [
      { text: 'I look around first, and see what the tests say.' },
      { call: 'list_files', input: {} },
      { call: 'read_file', input: { path: 'hours.js' } },
      { call: 'shell', input: { command: 'node --test' } },
    ],
    [
      { text: 'A shop that closes after midnight has `to` before `from`, and nobody thought of that.' },
      {
        call: 'edit_file',
        input: {
          path: 'hours.js',
          old_text: '  return minute >= from && minute < to\n',
          new_text:
            '  // One that closes after midnight is open at both ends of the day.\n' +
            '  return from <= to ? minute >= from && minute < to : minute >= from || minute < to\n',
        },
      },
    ],
    [{ call: 'shell', input: { command: 'node --test' } }],
    'Fixed: `isOpen` in `hours.js` took closing after midnight for closing before opening. Both tests pass now.',
  ])
