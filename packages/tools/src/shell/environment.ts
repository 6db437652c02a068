/** The variables of this process that commands can see. Any other may hold a secret. */
const passedVariables = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TZ', 'TMPDIR', 'LANG', 'LANGUAGE'],
  ...['LC_ALL', 'LC_COLLATE', 'LC_CTYPE', 'LC_MESSAGES', 'LC_MONETARY', 'LC_NUMERIC', 'LC_TIME'],
]

/** No user can answer a prompt or close an editor or pager, and colors are noise. */
const unattended = {
  TERM: 'dumb',
  NO_COLOR: '1',
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  MANPAGER: 'cat',
  GIT_TERMINAL_PROMPT: '0',
  GIT_EDITOR: 'true',
  DEBIAN_FRONTEND: 'noninteractive',
  PYTHONUNBUFFERED: '1',
}

/**
 * Git treats any folder that looks like a bare repository as one, and runs programs that its config
 * names: git-config(1), safe.bareRepository.
 */
const safeGit = {
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'safe.bareRepository',
  GIT_CONFIG_VALUE_0: 'explicit',
}

/**
 * The environment of a command: a few of our variables, then the options. Read for each command, as
 * it may change.
 */
export function commandEnvironment({
  passEnv,
  env,
}: {
  passEnv: readonly string[]
  env: Readonly<Record<string, string>>
}): Record<string, string> {
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    ...fromProcess(passedVariables),
    ...unattended,
    ...safeGit,
    ...fromProcess(passEnv),
    ...env,
  }
}

function fromProcess(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
}
