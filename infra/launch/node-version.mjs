// Old versions of Node must be able to read this file and say what is wrong, so its syntax is that of 2015.

/**
 * What is wrong with this version of Node, or an empty text. 20.11 is the first with `import.meta.dirname`.
 * @param {string} version such as 20.11.0
 * @returns {string}
 */
export function nodeProblem(version) {
  var parts = version.split('.');
  var major = Number(parts[0]);
  var minor = Number(parts[1]);
  if (major > 20 || (major === 20 && minor >= 11)) return '';
  return `Node ${version} is too old: footfall needs 20.11 or newer. Install Node 20 and start again.`;
}
