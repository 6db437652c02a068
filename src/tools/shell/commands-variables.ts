import type { Word } from 'unbash'

// Each of these makes a program or the shell itself run, load or look for something else.
const steering =
  /^(?:PATH|IFS|ENV|HOME|CDPATH|SHELL|SHELLOPTS|EXECIGNORE|GLOBIGNORE|PS[0-4]|PROMPT_COMMAND|EDITOR|VISUAL|BROWSER|SUDO_ASKPASS|SSH_\w+|BASH\w*|FUNCNEST|(?:LD|DYLD|GIT|XDG|NPM|npm|YARN|NODE_(?!ENV$)|PYTHON|PERL|PERL5|RUBY|GEM|BUNDLE|JAVA|JDK|_JAVA|MAVEN|GRADLE|CARGO|RUST|GO|PIP|UV|LESS|RIPGREP|MAKE|DOCKER|KUBE|GCONV|LOCPATH|TEXTDOMAIN|TERMINFO|POSIXLY)\w*|RUSTFLAGS|GOFLAGS|MAKEFLAGS|CLASSPATH|\w*PAGER|\w*_proxy|\w*_PROXY|histchars|auto_resume)$/

const harmlessOnCommand = /^(?:LC_\w+|LANG|LANGUAGE|TZ|NO_COLOR|FORCE_COLOR|CLICOLOR|COLUMNS|LINES|CI|TERM)$/

/** Whether setting this variable can change what other commands of the line are. */
export function steersOthers(name: string): boolean {
  return steering.test(name) || !/^[A-Za-z_]\w*$/.test(name)
}

/** Whether a command that is given this variable still is what it was. */
export function leavesAlone(name: string): boolean {
  return harmlessOnCommand.test(name)
}

/** Follows which variables a line sets to something else than a number. */
export interface Variables {
  wrote(name: string): void
  /** Asked when the whole line was read: whether the shell may find a command to run in this arithmetic. */
  mayRun(arithmetic: string): boolean
}

// Hold what was just said or read, whoever set them.
const echoes =
  /^(?:_|REPLY|MAPFILE|OPTARG|PWD|OLDPWD|DIRSTACK|FUNCNAME|PIPESTATUS|COPROC\w*|BASH\w*|COMP_\w*|READLINE\w*)$/

/**
 * bash evaluates the text of a variable in arithmetic, and runs what is substituted in a subscript there: after
 * `x='a[$(rm -rf ~)]'` it is enough to write `$((x))`.
 */
export function variables(): Variables {
  const texts = new Set<string>()
  return {
    wrote: (name) => void texts.add(name),
    mayRun(arithmetic) {
      const text = arithmetic.replace(/\$\{#\w+\}|\$[?#$!]/g, '0').replaceAll('$((', '((')
      if (/[`\\]|\$(?![A-Za-z_{])|\$\{(?!\w+\})|\$\{?\d/.test(text)) return true
      const names = text.match(/[A-Za-z_]\w*/g) ?? []
      // `((PATH=5))` is an assignment as well.
      return names.some((name) => texts.has(name) || echoes.test(name) || steersOthers(name))
    },
  }
}

/** Whether the word comes to whole numbers and nothing else. */
export function isNumeric(word: Word): boolean {
  if (!word.parts) return /^-?\d*$/.test(word.value)
  return word.parts.every((part) => {
    switch (part.type) {
      case 'Literal':
      case 'SingleQuoted':
        return /^-?\d*$/.test(part.value)
      case 'ArithmeticExpansion':
        return true
      case 'SimpleExpansion':
        return /^\$[?#$!]$/.test(part.text)
      case 'BraceExpansion':
        return /^\{-?\d+\.\.-?\d+(?:\.\.-?\d+)?\}$/.test(part.text)
      default:
        return /^\$\{#\w+\}$/.test(part.text)
    }
  })
}
